#include "facts/run_facts.h"

#include <algorithm>
#include <utility>

#include "facts/recordings.h"
#include "ingest/recording.h"

namespace vramfit::facts {

const liveness::CardHistory* RunFacts::history_of(int device) const {
  const auto found = std::ranges::find(histories, device, &liveness::CardHistory::device);
  return found != histories.end() ? &*found : nullptr;
}

int RunFacts::contexts_on(int device) const {
  return static_cast<int>(std::ranges::count_if(processes, [&](const Process& process) {
    return std::ranges::any_of(process.cards,
                               [&](const CardUse& use) { return use.device == device && use.has_context; });
  }));
}

std::vector<model::OwnerRow> RunFacts::owners_at(const liveness::CardHistory& history, liveness::EventIndex at,
                                                 const liveness::OwnerOptions& options) const {
  return liveness::find_owners(history, at, *recordings_, options);
}

std::vector<model::LineRow> RunFacts::lines_at(const liveness::CardHistory& history, liveness::EventIndex at,
                                               std::size_t limit) const {
  return liveness::find_lines(history, at, *recordings_, limit);
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
  sort_losses(facts.told);
  facts.executed = read_executed(recordings);
  facts.reach = read_reach(recordings);
  facts.training = read_training_record(recordings);
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
