// All that the doctor is given: what texts say, snapshots, one run of the script. Anything may be missing.
#ifndef VRAMFIT_DOCTOR_CASE_H
#define VRAMFIT_DOCTOR_CASE_H

#include <optional>
#include <string>
#include <vector>

#include "model/card.h"
#include "model/evidence.h"
#include "model/finding.h"
#include "model/replay_result.h"
#include "model/run_result.h"
#include "model/snapshot.h"

namespace vramfit::doctor {

struct SnapshotFile {
  std::string file;
  model::Snapshot snapshot;
  std::optional<model::ReplayResult> replay;  // of it through the allocator's rules; none: it could not be made
};

struct Case {
  model::Evidence texts;
  std::vector<SnapshotFile> snapshots;
  std::vector<std::string> unread;  // what was given and could not be read, one sentence each
  std::optional<model::RunResult> run;
  std::optional<model::RuntimeEvidence> oom_report;  // of a report of VRAMFIT_ON_OOM: who held what, without a run
  std::string command;                               // of the run, as typed
  std::string gpu;                                   // --gpu of the run, as typed
  std::vector<model::Card> cards;                    // the catalogue: what a card of that name has
  std::optional<model::Card> card;                   // that the texts are of, where the user says so
};

}  // namespace vramfit::doctor

#endif
