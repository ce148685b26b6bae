// An estimate as text and as JSON.
#ifndef VRAMFIT_REPORT_ESTIMATE_REPORT_H
#define VRAMFIT_REPORT_ESTIMATE_REPORT_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace vramfit::report {

// What there is to tell; src/app makes it of an estimate.
struct EstimateView {
  struct Part {
    std::string what, how;
    base::Bytes bytes;
  };
  std::string network, task, numbers, optimizer;
  std::string card, card_key;
  base::Bytes card_memory;
  std::int64_t batch = 1, sequence = 0, size = 0;
  std::int64_t parameters = 0, trained = 0;
  std::string fullest_stage;
  std::vector<Part> parts;
  base::Bytes tensors, reserved, outside, peak, low, high;
  std::string verdict;  // probably_fits, too_near, probably_runs_out
  std::optional<std::int64_t> largest_batch;
  std::string unknown_kind;              // the model_type, where nothing is known of it
  std::vector<std::string> not_counted;  // parts of the network, by the names of their configurations
  std::vector<std::string> notes;        // sentences
  std::vector<std::string> proof;        // the commands that prove it
  std::vector<std::string> packages;     // that the script of the proof imports beside torch
};

std::string estimate_to_text(const EstimateView& view);
std::string estimate_to_json(const EstimateView& view, std::string_view version);

}  // namespace vramfit::report

#endif
