#include "app/fit/span.h"

#include <algorithm>
#include <utility>

#include "app/fit/prover.h"
#include "job/run_on.h"

namespace vramfit::app {

namespace {

constexpr double kShareOfTime = 0.25;  // of what is left of a search, for one run in full
constexpr std::int64_t kLater = 200;   // a peak that is higher by more than 1/200 is one that the short run missed

base::Bytes highest(const job::RunOutcome& outcome) {
  base::Bytes peak;
  for (const model::DeviceResult& device : outcome.result.devices) peak = std::max(peak, device.peaks.device);
  return peak;
}

bool ran(const model::RunResult& result) {
  return result.verdict == model::Verdict::kFits || (result.verdict == model::Verdict::kBorderline && !result.oom);
}

}  // namespace

bool FitSpan::is_worth_it(const job::RunOutcome& shorter) const {
  return is_asked_for() && ran(shorter.result) && !shorter.result.reach.whole;
}

job::RunRequest FitSpan::in_full(job::RunRequest request, double seconds_left) const {
  request.steps = "auto";
  request.span = budget_;
  request.span.seconds = std::min(request.span.seconds, kShareOfTime * seconds_left);
  request.span_alone = true;
  return request;
}

job::RunOutcome FitSpan::join(job::RunOutcome shorter, job::RunOutcome longer) {
  const model::Reach& reach = longer.result.reach;
  const bool is_oom = longer.result.oom && !longer.result.oom->caught;
  if (is_oom || longer.result.interrupted) return longer;
  if (!ran(longer.result) || reach.batches == 0) return shorter;
  whole_steps_ = whole_steps_of(longer.result);
  answer_.count = reach.batches;
  answer_seconds_ = longer.result.wall_seconds;
  const base::Bytes before = highest(shorter);
  const bool is_late = (highest(longer) - before).count() * kLater > before.count();
  if (!is_late) {  // the short run saw the same peak, and a little of every phase: its facts are kept
    shorter.result.reach = job::joined_reach(longer.result.reach, shorter);
    job::take_growth(longer.result, shorter.result);
    return shorter;
  }
  trials_.count =
      std::min(reach.peak_at + job::kPastThePeak, reach.batches);  // what is counted on to comes after those
  const double seconds = longer.result.wall_seconds;
  job::RunOutcome joined = job::join_runs(std::move(longer), std::move(shorter));
  joined.result.wall_seconds = seconds;
  return joined;
}

}  // namespace vramfit::app
