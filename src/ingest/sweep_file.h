// A sweep's definition (JSON in its folder, TOML from the user) and what its trials left.
#ifndef VRAMFIT_INGEST_SWEEP_FILE_H
#define VRAMFIT_INGEST_SWEEP_FILE_H

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/sweep.h"

namespace vramfit::ingest {

std::string sweep_to_json(const model::SweepSpec& spec);
base::Result<model::SweepSpec> parse_sweep_json(std::string_view text, const std::string& where);

// A sweep as a user writes it:
//
//   gpu = ["rtx3060", "rtx3090"]         # or one text
//   command = ["python", "train.py", "--batch-size", "{batch}"]
//   timeout = 600                        # seconds of one trial
//   options = ["--steps", "4"]           # for `vramfit run`
//   find-max = "batch=1..512"
//   [vary]
//   "--crop-size" = [512, 768]
//   amp = ["off", "bf16"]
//
// A key that is not one of these is an error with its line. `find-max` is left as text for the caller.
struct SweepFile {
  model::SweepSpec spec;
  std::string find_max;
};
base::Result<SweepFile> parse_sweep_toml(std::string_view text, const std::string& where);

std::string words_to_json(const std::vector<std::string>& words);
base::Result<std::vector<std::string>> parse_words(std::string_view text, const std::string& where);

// Reads a run's result (docs/run.schema.json), or what trial_result_to_json wrote.
base::Result<model::TrialResult> parse_trial_result(std::string_view text, const std::string& where);
std::string trial_result_to_json(const model::TrialResult& result);

}  // namespace vramfit::ingest

#endif
