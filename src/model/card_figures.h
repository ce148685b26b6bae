// What a run tells of a card, as the history and pages keep it: a figure that nothing measured is none, never 0.
#ifndef VRAMFIT_MODEL_CARD_FIGURES_H
#define VRAMFIT_MODEL_CARD_FIGURES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/run_result.h"

namespace vramfit::model {

struct CardFigures {
  std::string name;
  int index = 0;
  std::optional<Bytes> total;
  std::optional<Bytes> context, libraries;           // of all processes on this card
  std::optional<Bytes> allocated, reserved, device;  // the peaks; a watch sees the last alone
  std::int64_t retries = 0;
  friend bool operator==(const CardFigures&, const CardFigures&) = default;
};

// Whether any process of the job came to a card. One that does takes a context at least, so that a job none of whose
// cards has a peak was not measured: it ended, or was ended, before there was anything to see.
bool was_measured(const RunResult& result);
std::vector<CardFigures> figures_of(const RunResult& result);
CardFigures figures_of(const RunResult& result, const DeviceResult& device);

}  // namespace vramfit::model

#endif
