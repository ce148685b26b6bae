// Several stored runs side by side: what differs between them, and what that did to memory and time.
#ifndef VRAMFIT_MODEL_COMPARISON_H
#define VRAMFIT_MODEL_COMPARISON_H

#include <optional>
#include <string>
#include <vector>

#include "model/stored_run.h"

namespace vramfit::model {

// Something that is not the same in all runs. values[i] belongs to runs[i] of the comparison.
struct Difference {
  std::string what;  // command, script, git, card, plan, torch, cuda, python, vramfit, host, verdict
  std::vector<std::string> values;
};

// One number of every run; nothing where a run has none.
struct ComparedNumber {
  std::string what;  // "train", "card 1, validate"
  std::vector<std::optional<Bytes>> peaks;
};

struct Comparison {
  std::vector<StoredRun> runs;  // in the order asked for; changes are told against the first
  std::vector<Difference> differences;
  std::vector<std::optional<Bytes>> peaks;  // of each run's fullest card
  std::vector<ComparedNumber> phases;
};

}  // namespace vramfit::model

#endif
