#include "facts/run_facts.h"

#include <algorithm>
#include <utility>

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
  return liveness::find_owners(history, at, recordings, options);
}

std::vector<model::LineRow> RunFacts::lines_at(const liveness::CardHistory& history, liveness::EventIndex at,
                                               std::size_t limit) const {
  return liveness::find_lines(history, at, recordings, limit);
}

std::optional<model::ModuleTable> RunFacts::module_table(const liveness::OperatorSeconds& seconds) const {
  return liveness::build_module_table(recordings, histories, seconds);
}

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
  facts.recordings = std::move(recordings);
  return std::make_shared<const RunFacts>(std::move(facts));
}

}  // namespace vramfit::facts
