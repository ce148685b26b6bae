// A run's result for a person: the verdict first and again last, 80 columns, binary units.
#ifndef VRAMFIT_REPORT_RUN_TEXT_H
#define VRAMFIT_REPORT_RUN_TEXT_H

#include <cstdint>
#include <string>

#include "model/run_result.h"
#include "report/mark.h"

namespace vramfit::report {

struct TextOptions {
  bool verbose = false;  // everything, not only what decides
  bool color = false;
  std::int64_t number = 0;  // of the run in the history; 0: it is not there
};

std::string run_to_text(const model::RunResult& result, const TextOptions& options);

// "Llama was being moved to the card, at blocks.7.up: 23.00 GiB of it were there, 41.0 GiB were to come."
std::string loading_sentence(const model::LoadingFacts& loading);

Mark verdict_mark(const model::RunResult& result);

// One line: "[✗] out of memory on NVIDIA GeForce GTX 1070 ..."
std::string verdict_line(const model::RunResult& result);

}  // namespace vramfit::report

#endif
