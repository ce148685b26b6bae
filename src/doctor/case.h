// All that the doctor is given: what texts say, snapshots, one run of the script. Anything may be missing.
#ifndef VRAMFIT_DOCTOR_CASE_H
#define VRAMFIT_DOCTOR_CASE_H

#include <optional>
#include <string>
#include <vector>

#include "model/card.h"
#include "model/evidence.h"
#include "model/finding.h"
#include "model/run_result.h"
#include "model/runtime_evidence.h"
#include "model/snapshot.h"

namespace vramfit::doctor {

// A replay of a snapshot under other settings: what the allocator's simulator said.
struct ReplayedSetting {
  std::string settings;  // "expandable_segments:True"
  bool fits = false;
  model::Bytes reserved;  // at its peak
  friend bool operator==(const ReplayedSetting&, const ReplayedSetting&) = default;
};

struct SnapshotFile {
  std::string file;
  model::Snapshot snapshot;
  std::vector<ReplayedSetting> replays;  // empty: none was made
  bool replay_is_faithful = false;       // under its own settings the replay ends as the snapshot says
};

struct Case {
  model::Evidence texts;
  std::vector<SnapshotFile> snapshots;
  std::optional<model::RunResult> run;
  model::RuntimeEvidence runtime;
  std::string command;             // of the run, as typed
  std::string gpu;                 // --gpu of the run, as typed
  std::vector<model::Card> cards;  // the catalogue: what a card of that name has
};

}  // namespace vramfit::doctor

#endif
