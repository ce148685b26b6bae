// A sweep: one job run once for each combination of values, or a search for the largest value that fits.
#ifndef VRAMFIT_MODEL_SWEEP_H
#define VRAMFIT_MODEL_SWEEP_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/run_result.h"

namespace vramfit::model {

struct SweepVariable {
  std::string name;                 // batch, --crop-size, {placeholder}, gpu, amp, alloc, plan, ...
  std::vector<std::string> values;  // as they are put into the command; a value may be several words
  friend bool operator==(const SweepVariable&, const SweepVariable&) = default;
};

// The largest whole number of `name` that fits, for each combination of the others.
struct SweepGoal {
  std::string name;
  std::int64_t low = 1, high = 1 << 20;
  friend bool operator==(const SweepGoal&, const SweepGoal&) = default;
};

struct SweepSpec {
  std::vector<std::string> gpus;     // as typed after --gpu
  std::vector<std::string> options;  // further words for `vramfit run`
  std::vector<std::string> command;
  std::vector<SweepVariable> variables;
  std::optional<SweepGoal> goal;
  double timeout_seconds = 600;  // of one trial
  friend bool operator==(const SweepSpec&, const SweepSpec&) = default;
};

enum class TrialState {
  kWaiting,
  kRunning,
  kDone,
  kLost  // its process or its cluster job ended without a result
};
std::string_view to_string(TrialState state);  // "waiting", ...

// What one trial told. Only what was run is ever told: there are no inferred results.
struct TrialResult {
  std::string verdict;  // run's: fits, borderline, out_of_memory, failed; and timed_out, interrupted
  std::string reason;
  int exit_code = 0;
  double wall_seconds = 0;
  std::optional<Peaks> peaks;         // of the fullest card
  Bytes total;                        // that card's memory
  std::vector<std::string> untested;  // RunResult has it
  bool fits() const { return verdict == "fits"; }
  friend bool operator==(const TrialResult&, const TrialResult&) = default;
};

struct Trial {
  std::size_t index = 0;            // names its files
  std::vector<std::string> values;  // one a variable, the goal's last
  TrialState state = TrialState::kWaiting;
  TrialResult result;
  std::string run;  // the uuid by which the history has it; empty: it has not
  friend bool operator==(const Trial&, const Trial&) = default;
};

// The answer of a search, for one combination of the other variables.
struct Largest {
  std::vector<std::string> values;        // of the other variables
  std::optional<std::int64_t> fits;       // the largest that was run and fits
  std::optional<std::int64_t> too_large;  // the smallest that was run and does not
  std::string obstacle;                   // why the search could not end: a trial that failed for another reason
  bool is_borderline = false;             // too_large, which may fit on a real card
  friend bool operator==(const Largest&, const Largest&) = default;
};

struct SweepResult {
  SweepSpec spec;
  std::string folder;
  std::vector<Trial> trials;
  std::vector<Largest> largest;  // with a goal
  bool interrupted = false;
  double seconds = 0;
};

}  // namespace vramfit::model

#endif
