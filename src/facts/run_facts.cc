#include "facts/run_facts.h"

#include <vramfit/ledger.h>

#include <algorithm>
#include <utility>

#include "facts/recordings.h"
#include "facts/runtime_evidence.h"
#include "facts/step_work.h"
#include "ingest/recording.h"

namespace vramfit::facts {

const liveness::CardHistory* RunFacts::history_of(int device) const {
  return liveness::find_history(histories, device);
}

const model::StepWork& RunFacts::work_on(int device) const {
  static const model::StepWork kNone;
  const auto found = work.find(device);
  return found != work.end() ? found->second : kNone;
}

std::optional<model::ModuleTable> RunFacts::module_table(const liveness::OperatorSeconds& seconds) const {
  return liveness::build_module_table(*recordings_, histories, seconds);
}

const std::vector<model::Recording>& recordings_of(const RunFacts& facts) { return *facts.recordings_; }

RunFactsPtr gather(std::vector<model::Recording> recordings, const vf_ledger* ledger) {
  RunFacts facts;
  for (const model::Recording& recording : recordings) facts.processes.push_back(read_process(recording));
  facts.histories = liveness::build_histories(recordings);
  facts.told = read_told(recordings);
  if (ledger != nullptr) add_ledger_notes(*ledger, facts.told);
  const auto cards = ledger != nullptr && ledger->card_count > 0 ? static_cast<int>(ledger->card_count) : VF_MAX_CARDS;
  add_unknown_cards(recordings, cards, facts.told);
  sort_losses(facts.told);
  facts.executed = read_executed(recordings);
  facts.reach = read_reach(recordings);
  facts.training = read_training_record(recordings);
  facts.cards = read_cards(facts.histories, facts.processes, ledger);
  facts.work = count_step_work(recordings);
  facts.evidence = read_evidence(recordings, facts.processes, facts.histories);
  facts.recordings_ = std::make_shared<const std::vector<model::Recording>>(std::move(recordings));
  return std::make_shared<const RunFacts>(std::move(facts));
}

base::Result<RunFactsPtr> read_facts(const std::filesystem::path& run_folder, const vf_ledger* ledger) {
  auto recordings = ingest::read_run_folder(run_folder);
  if (!recordings) return std::unexpected(recordings.error());
  return gather(std::move(*recordings), ledger);
}

RunFactsPtr no_facts() { return gather({}); }

}  // namespace vramfit::facts
