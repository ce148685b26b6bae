// A run as the history keeps it: what was run, where, on what, and what came of it.
#ifndef VRAMFIT_MODEL_STORED_RUN_H
#define VRAMFIT_MODEL_STORED_RUN_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/card_figures.h"
#include "model/run_result.h"

namespace vramfit::model {

enum class RunState {
  kRunning,     // its process lives
  kEnded,       // it told its result
  kInterrupted  // its process died before it could
};
std::string_view to_string(RunState state);  // "running", "ended", "interrupted"
std::optional<RunState> parse_run_state(std::string_view text);

// A version of the sources in the job's folder. Empty where there is no git.
struct GitState {
  std::string commit;  // full hash
  std::string branch;
  bool has_changes = false;  // in files that git follows
  friend bool operator==(const GitState&, const GitState&) = default;
};

struct StoredFinding {
  std::string code, label, text;
  friend bool operator==(const StoredFinding&, const StoredFinding&) = default;
};

// What is known when a run starts.
struct RunStart {
  std::string verb;  // run, fit, doctor, sweep, watch
  std::vector<std::string> command;
  std::string folder;
  std::string script;       // the file of the command that is the job; empty: none was found
  std::string script_hash;  // of its contents: a UUID of version 5; what git hash-object gives, in runs of before
  GitState git;
  std::string host;                    // set by the store
  std::string version;                 // of vramfit
  std::string card;                    // as asked for
  std::string plan;                    // the plan's text (JSON); empty: as it is
  std::optional<std::int64_t> parent;  // the number of the sweep it is a trial of
  friend bool operator==(const RunStart&, const RunStart&) = default;
};

// What is known when it ended.
struct RunEnd {
  std::string verdict;  // the verb's own word for it, or "interrupted"
  std::string reason;
  int exit_code = 0;
  double wall_seconds = 0;
  std::string torch, cuda, python;
  std::vector<CardFigures> devices;
  std::vector<PhaseResult> phases;
  std::vector<StoredFinding> findings;
  std::string result;  // what --json writes; holds timeline and owners too
  friend bool operator==(const RunEnd&, const RunEnd&) = default;
};

struct StoredRun {
  std::int64_t number = 0;  // in this store, from 1 on; never given again
  std::string uuid;         // the same wherever the run is imported
  RunState state = RunState::kRunning;
  std::int64_t started_ms = 0;  // since 1970, UTC
  std::optional<std::int64_t> ended_ms;
  RunStart start;
  RunEnd end;
  std::string note;
  std::vector<std::string> tags;  // sorted
  friend bool operator==(const StoredRun&, const StoredRun&) = default;
};

// The peak of the run's fullest card; nothing where it told of none.
std::optional<Bytes> fullest_peak(const StoredRun& run);

// The runs that a listing wants. Empty members take everything.
struct RunFilter {
  std::string tag, verb, verdict;
  std::optional<std::int64_t> parent;
  std::int64_t most = 0;    // the newest so many; 0: all
  bool with_trials = true;  // runs that belong to a sweep too
};

}  // namespace vramfit::model

#endif
