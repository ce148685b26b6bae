// How a run and the time that it may go on for are put together (--within).
//
//   one run      everything in full, until the budget is used; then cut short, or stopped
//                train 1 .. 500 | validate 1 .. 80 | train 1 .. 213 | validate 1 | train 1 | ... | stopped
//   a second     the short cut, quietly, where the first did not come to the script's own end: it sees a few batches of
//                everything, evaluations and what they gather included
//   the answer   the worse of both
#ifndef VRAMFIT_JOB_RUN_ON_H
#define VRAMFIT_JOB_RUN_ON_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "job/run.h"

namespace vramfit::job {

// "20" is seconds, "8-20" seconds of which it may leave out some from 8 on, "120n" batches and steps, "0" the short cut
// alone. Nothing when it is neither.
std::optional<Span> parse_span(const std::string& text);

// What the request's budget is in a run that may be ended from outside: half of the limit, for there is more to do.
Span span_of(const RunRequest& request);
std::string to_variable(const Span& span);  // as VRAMFIT_RUN_ON spells it; empty: none

// Batches and steps behind a peak that a run is still given.
inline constexpr std::int64_t kPastThePeak = 2;

// How far to run a job again, to learn how much room it needs: as far as its peak was. If it ran to its own end before,
// it does so again.
Span span_to_peak(const RunRequest& request, const model::Reach& reach);

// Whether a short run may show more, because this one did not come to the script's own end.
bool wants_short_run(const RunRequest& request, const RunOutcome& outcome);

// How far both came: what the short run executed was reached.
model::Reach joined_reach(model::Reach longer, const RunOutcome& shorter);

// Takes the long run's word on growth in place of the short one's, which has a few steps; other warnings stay.
void take_growth(const model::RunResult& longer, model::RunResult& into);

// The worse of both, with what only the other saw. How far it went, and what was left out, is told of `longer`.
RunOutcome join_runs(RunOutcome longer, RunOutcome shorter);

// Makes the second run if it is wanted. If that fails, it says nothing about memory, and is left out.
RunOutcome complete(const RunRequest& request, RunOutcome outcome,
                    const std::function<base::Result<RunOutcome>(const RunRequest&)>& run_once);

}  // namespace vramfit::job

#endif
