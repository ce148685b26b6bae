#include "app/another_try.h"

#include <algorithm>
#include <utility>

namespace vramfit::app {

using base::Result;
using model::Verdict;

namespace {

// As python/vramfit/data_reads.py says it: a number alone selects nothing and checks nothing.
bool has_masked_or_checked(const model::RunResult& result) {
  return std::ranges::any_of(result.depends_on_data, [](const model::DataDependence& read) {
    return read.what.starts_with("a size") || read.what.starts_with("a branch");
  });
}

}  // namespace

std::optional<Concessions> concede(const RunRequest& request, const RunOutcome& outcome) {
  const model::RunResult& result = outcome.result;
  if (result.verdict != Verdict::kFailed || !result.error) return std::nullopt;
  Concessions more = request.concessions;
  more.whole_evaluation |= result.error->after_cut;
  if (more != request.concessions) return more;
  more.full_masks |= !request.real && request.values == Values::kZeros && has_masked_or_checked(result);
  if (more != request.concessions) return more;
  return std::nullopt;
}

Result<RunOutcome> run_conceding(RunRequest& request,
                                 const std::function<Result<RunOutcome>(const RunRequest&)>& run_once,
                                 const std::function<void(std::string_view)>& say) {
  auto outcome = run_once(request);
  while (outcome) {
    const auto more = concede(request, *outcome);
    if (!more) break;
    say(more->full_masks != request.concessions.full_masks
            ? "the script failed, and masks and checks on the card had read as zeros: again, with full masks and "
              "passed checks"
            : "the script failed after an evaluation that was cut: again, with all of it");
    RunRequest again = request;
    again.concessions = *more;
    auto next = run_once(again);
    if (more->full_masks && next && next->result.verdict == Verdict::kFailed) break;
    request.concessions = *more;
    outcome = std::move(next);
  }
  return outcome;
}

}  // namespace vramfit::app
