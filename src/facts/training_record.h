// What the first optimizer steps of a run did, and what its first evaluation put out, from the notes of
// python/vramfit/verify.
#ifndef VRAMFIT_FACTS_TRAINING_RECORD_H
#define VRAMFIT_FACTS_TRAINING_RECORD_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/note_records.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::facts {

using EffectKind = model::notes::EffectKind;
using GroupOptions = std::map<std::string, double>;  // of one group of parameters: "lr", "weight_decay"

struct TrainingStep {
  int optimizer = 0;         // by the order of their first steps
  int number = 0;            // of this optimizer's steps, from 1
  std::int64_t samples = 0;  // that had gone through a backward pass by then
  double data = 0;           // the sum of all numbers in them
  std::vector<GroupOptions> groups;
};

// Up to 64 numbers of each tensor, by what it is called: "0.3", the fourth parameter of the first optimizer;
// "0.1.mean", a buffer of the first model. Infinities and what is not a number are kept as such.
using Tensors = std::map<std::string, std::vector<double>>;

// What a technique of the plan says that it changed, beyond its promise.
struct PlanEffect {
  std::string technique, text;
  EffectKind what = EffectKind::kOther;
};

struct TrainingRecord {
  std::vector<TrainingStep> steps;
  Tensors gradients;                    // at each optimizer's first step
  Tensors updates;                      // of parameters, over all steps
  Tensors states;                       // of optimizers after them: "0.3.exp_avg" is the moment of parameter "0.3"
  Tensors buffers, averages;            // what became of them over all steps
  Tensors averages_in_order;            // of those that a list keeps, known by their turn
  Tensors inputs, outputs;              // of the first forwards of evaluations: sums, and values of what came out
  std::map<int, double> weights;        // by optimizer: the sum of what its parameters were at first
  std::vector<std::string> optimizers;  // classes
  std::string autocast;                 // the script's own type; empty: none
  bool has_batch_norm = false;          // that trains
  std::int64_t texts_kept = 0;          // tokens of each text that were kept; 0: all of them
  std::string images_kept;              // rows and columns of each image that were kept; empty: all of them
  bool has_ended = false;               // with everything noted, not of an error
  std::vector<PlanEffect> effects;
};

// Reads the first process that took a step, or evaluated where none did: ranks train alike.
TrainingRecord read_training_record(std::span<const model::Recording> recordings);

}  // namespace vramfit::facts

#endif
