// What the hooks of a run's processes said in their notes, and the virtual cards in their ledger: each thing once.
#ifndef VRAMFIT_FACTS_TOLD_H
#define VRAMFIT_FACTS_TOLD_H

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/data_loss.h"
#include "model/run_result.h"

struct vf_ledger;

namespace vramfit::model {
struct Recording;
}

namespace vramfit::facts {

// A technique of the plan, and what became of it.
struct TechniqueNote {
  std::string id, text;
};

// A memory snapshot that was kept in the run folder (python/vramfit/observe/own_snapshots.py).
struct SnapshotNote {
  int pid = 0;
  std::string file, name;
  bool by_script = false;
};

// What the hooks of all processes told in notes, put together. None of it is measured: whatever shows it says that it
// was told.
struct Told {
  std::string torch, cuda, python;  // versions; empty: nobody said
  std::vector<std::string> cuts;
  std::vector<TechniqueNote> plan_applied, plan_refused;  // by every process
  std::vector<TechniqueNote> plan_effects;                // in which the plan does not train as without it
  std::vector<model::DataDependence> depends_on_data;
  std::vector<model::Remark> not_modelled, assumed, warnings;
  std::vector<model::DataLoss> losses;  // the worst first
  std::optional<model::Oom> oom;        // without its size, which the recording has
  std::optional<model::ScriptError> error;
  std::vector<model::FrameworkMemory> frameworks;
  std::vector<model::ServerMemory> servers;
  std::vector<SnapshotNote> snapshots;
  bool counted_on = false;  // a loop was moved on past what was run in full: what fails after it may come of that
  bool failed_after_read = false;  // the script failed after the host had read values that were not computed
};

// Reads the notes of all processes, and what the reader of their recordings could not use.
Told read_told(std::span<const model::Recording> recordings);

void add_ledger_notes(const vf_ledger& ledger, Told& into);
// Events of cards beyond the first `cards`.
void add_unknown_cards(std::span<const model::Recording> recordings, int cards, Told& into);

// The worst first.
void sort_losses(Told& into);

}  // namespace vramfit::facts

#endif
