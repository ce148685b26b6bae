// Everything that one run's recordings, notes and ledger say, put together once and then only read.
//
//   recordings --+--> histories   one a card: blocks, segments, levels, steps (src/liveness)
//                |--> processes   who they were, and what each took of which card
//     notes -----+--> told        what the hooks said, said once, with what got lost on the way
//                |--> reach       how far the run came
//     ledger ----'    training    what its first optimizer steps did
//                     cards       what was held of each as a whole, by the histories and by the ledger
//                     evidence    what grew, what the first step made, who held what
//
// Nothing behind this room reads a recording or a note: what is missing here is added here.
#ifndef VRAMFIT_FACTS_RUN_FACTS_H
#define VRAMFIT_FACTS_RUN_FACTS_H

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "facts/card_facts.h"
#include "facts/processes.h"
#include "facts/reach.h"
#include "facts/told.h"
#include "facts/training_record.h"
#include "liveness/lifetimes.h"
#include "liveness/module_table.h"
#include "model/job.h"
#include "model/reach.h"
#include "model/runtime_evidence.h"

struct vf_ledger;

namespace vramfit::facts {

struct RunFacts {
  std::vector<Process> processes;                // in the order of the run folder
  std::vector<liveness::CardHistory> histories;  // of cards that anything happened on, by index
  Told told;
  model::Reach reach;  // of a run that came to its end undisturbed
  Executed executed;
  TrainingRecord training;

  std::vector<CardFacts> cards;         // of a virtual machine all, of a real one as `histories`
  std::map<int, model::StepWork> work;  // what one training step asks of a card, by device
  model::RuntimeEvidence evidence;      // but for what is of one moment (explanation.h)

  const liveness::CardHistory* history_of(int device) const;  // null: nothing happened there
  const model::StepWork& work_on(int device) const;           // empty where nothing was seen

  // None where no module was watched.
  std::optional<model::ModuleTable> module_table(const liveness::OperatorSeconds& seconds) const;

 private:
  // The recordings that all of it was made of, which only this room reads (recordings.h).
  std::shared_ptr<const std::vector<model::Recording>> recordings_;
  friend const std::vector<model::Recording>& recordings_of(const RunFacts& facts);
  friend std::shared_ptr<const RunFacts> gather(std::vector<model::Recording> recordings, const vf_ledger* ledger);
};

using RunFactsPtr = std::shared_ptr<const RunFacts>;

// What the recorder and the hooks left in a run's folder. `ledger`: of its virtual cards; null on a real card.
base::Result<RunFactsPtr> read_facts(const std::filesystem::path& run_folder, const vf_ledger* ledger = nullptr);

// The facts of a run that left nothing.
RunFactsPtr no_facts();

}  // namespace vramfit::facts

#endif
