// Layers and outputs over a large vocabulary, or over classes a pixel: the logits' memory.
#ifndef VRAMFIT_FACTS_WIDE_OUTPUTS_H
#define VRAMFIT_FACTS_WIDE_OUTPUTS_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "liveness/lifetimes.h"
#include "model/runtime_evidence.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::facts {

// A layer, or the output of a whole forward pass, whose elements are counted in vocabulary entries or classes.
struct WideOutput {
  std::string module;
  std::int64_t classes = 0;
  std::int64_t rows = 0;  // tokens or pixels
  std::string shape;
};
std::vector<WideOutput> read_wide_outputs(std::span<const model::Recording> recordings);

// The blocks of a card that are as large as such an output, at one of its moments.
std::vector<model::Logits> find_logits(const liveness::CardHistory& history,
                                       std::span<const model::Recording> recordings, liveness::EventIndex at);

}  // namespace vramfit::facts

#endif
