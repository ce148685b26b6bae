#include "app/check/compared_run.h"

#include <utility>
#include <vector>

#include "compare/comparison.h"

namespace vramfit::app {

namespace {

using model::CheckResult;

// Compares the recording with each snapshot of the run, and returns the comparison in which they have most in common.
std::optional<std::pair<CheckResult, Partner>> compare_best(const Recorded& recorded, std::vector<Partner> partners) {
  std::optional<std::pair<CheckResult, Partner>> best;
  for (Partner& partner : partners) {
    CheckResult result = compare::compare(recorded.stream, partner.stream);
    const auto rank = [](const CheckResult& one) { return std::pair(one.same + one.moved, -one.only_virtual); };
    if (!best || rank(result) > rank(best->first)) best.emplace(std::move(result), std::move(partner));
  }
  return best;
}

}  // namespace

base::Result<ComparedRun> compare_run(const CheckRequest& request, job::RunRequest job, job::Runner& runner,
                                      base::ProgressSink& progress) {
  job.snapshots = request.recorded.format == RecordedFormat::kSnapshot;
  auto outcome = runner.run(job, progress);
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
  const std::string name = request.recording.filename().string();
  progress.update("comparing with " + name);
  ComparedRun compared;
  if (auto best = compare_best(request.recorded, find_partners(request.recorded, name, *outcome))) {
    compared.result = std::move(best->first);
    compared.result.partner = best->second.description;
    compared.partner = std::move(best->second);
  } else {
    compared.result.recorded_events = std::ssize(request.recorded.stream.events);
    compared.result.text = "the virtual run used no memory of a card, so there is nothing to compare";
  }
  compared.outcome = std::move(*outcome);
  return compared;
}

}  // namespace vramfit::app
