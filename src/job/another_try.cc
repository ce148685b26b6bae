#include "job/another_try.h"

#include <utility>

namespace vramfit::job {

using base::Result;
using model::Verdict;

std::optional<RetryOptions> find_retry(const RunRequest& request, const RunOutcome& outcome) {
  const model::RunResult& result = outcome.result;
  const bool may_track = !request.real && request.values == Values::kAuto;
  RetryOptions more = request.retry;
  more.tracked_values |= may_track && outcome.wants_values.has_value();
  if (more != request.retry) return more;
  // On a real card a second start would write, send and count once more what the first did.
  if (request.real || result.verdict != Verdict::kFailed || !result.error) return std::nullopt;
  more.whole_evaluation |= result.error->after_cut;
  if (more != request.retry) return more;
  more.tracked_values |= may_track && outcome.failed_after_read;
  if (more != request.retry) return more;
  return std::nullopt;
}

Result<RunOutcome> run_with_retries(RunRequest& request,
                                    const std::function<Result<RunOutcome>(const RunRequest&)>& run_once,
                                    const std::function<void(std::string_view)>& say) {
  auto outcome = run_once(request);
  while (outcome) {
    const auto more = find_retry(request, *outcome);
    if (!more) break;
    RunRequest again = request;
    again.retry = *more;
    again.already_printed = outcome->wants_values;
    if (!outcome->wants_values) {
      say(more->tracked_values != request.retry.tracked_values
              ? "the script failed after it had read values that were not computed: again, following them"
              : "the script failed after an evaluation that was cut: again, with all of it");
    }
    if (request.before_retry) request.before_retry(*more);
    auto next = run_once(again);
    const bool asked = outcome->wants_values.has_value();
    const bool tried = !asked && more->tracked_values != request.retry.tracked_values;
    if (tried && next && next->result.verdict == Verdict::kFailed) break;
    request.retry = *more;
    outcome = std::move(next);
  }
  return outcome;
}

}  // namespace vramfit::job
