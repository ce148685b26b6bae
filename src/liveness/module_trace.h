// The notes of python/vramfit/observe/modules: which modules a model has, and one forward of it as calls and operators.
#ifndef VRAMFIT_LIVENESS_MODULE_TRACE_H
#define VRAMFIT_LIVENESS_MODULE_TRACE_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/job.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::liveness {

using base::Bytes;

// A module with what is its own: what lies in modules below it is theirs.
struct ListedModule {
  std::string name, class_name;  // as in named_modules(): the first is the model itself, without a name
  std::int64_t parameters = 0;
  Bytes parameter_bytes, buffer_bytes, gradient_bytes, optimizer_bytes;
};

struct ListedModel {
  std::string prefix;  // of its modules' names in the recording
  std::vector<ListedModule> modules;
};

// One call of a module.
struct TraceFrame {
  int module = -1;                          // -1: one that the model does not list
  int around = -1;                          // the frame it was called in
  std::int64_t began_ns = 0, ended_ns = 0;  // CLOCK_MONOTONIC
  Bytes output;
  std::vector<std::string> inputs, outputs;
};

struct TraceOperator {
  std::size_t frame = 0;
  std::string name;                // of aten, "add_"
  std::vector<int> reads, writes;  // storages
  double forward_flops = 0, backward_flops = 0;
  model::Number number = model::Number::kOther;
  double touched_bytes = 0;
};

struct TraceOutput {
  int storage = -1;
  std::string name;  // the key it was under, where there was one
  Bytes bytes;
};

struct ModuleTrace {
  int root = 0;  // of ModuleNotes::models
  std::string phase;
  int device = 0;
  bool sees_operators = true;  // false: the model is compiled
  bool is_cut = false;         // too many operators: the last are missing
  std::vector<TraceFrame> frames;
  std::vector<TraceOperator> operators;
  std::map<int, Bytes> alive;  // storages that it made and that lived at its end, with their blocks' sizes
  std::vector<Bytes> sizes;    // of storages
  std::set<int> inputs;
  std::vector<TraceOutput> outputs;
};

struct ModuleNotes {
  std::size_t process = 0;  // index of the recording they are from: the first that has any
  std::vector<ListedModel> models;
  std::vector<ModuleTrace> traces;  // the last of each model and phase
  int unreadable = 0;               // notes that were damaged
};

ModuleNotes read_module_notes(std::span<const model::Recording> recordings);

// Whether the hooks were asked to watch modules at all.
bool watched_modules(std::span<const model::Recording> recordings);

}  // namespace vramfit::liveness

#endif
