// Over how much of the job a search looks (--within): every plan that is given as the answer went over the same batches
// as the job on a card with plenty, candidates only as far as memory shows itself.
#ifndef VRAMFIT_APP_FIT_SPAN_H
#define VRAMFIT_APP_FIT_SPAN_H

#include <cstdint>
#include <optional>

#include "job/run.h"

namespace vramfit::app {

class FitSpan {
 public:
  explicit FitSpan(job::Span budget) : budget_(budget) {}

  bool is_asked_for() const { return !budget_.is_empty(); }
  // Whether a run over all batches may show more than this short run did.
  bool is_worth_it(const job::RunOutcome& shorter) const;
  // The same request for a run that may go on for the whole budget, or for as long as a search has time left.
  job::RunRequest in_full(job::RunRequest request, double seconds_left) const;

  // Joins the facts of the long run (with plenty of memory) to those of the short one. If it told nothing, nothing
  // changes.
  job::RunOutcome join(job::RunOutcome shorter, job::RunOutcome longer);

  // How far candidates are run: only over the first batches, unless the peak of the job comes later.
  job::Span of_trials() const { return trials_; }
  // The span over which the answer is confirmed.
  job::Span of_answer() const { return answer_; }
  double answer_seconds() const { return answer_seconds_; }  // what that took the job as it is
  // How many training steps the job takes from start to end. Nothing: even the long run left some out.
  std::optional<std::int64_t> whole_steps() const { return whole_steps_; }

 private:
  job::Span budget_, trials_, answer_;
  double answer_seconds_ = 0;
  std::optional<std::int64_t> whole_steps_;
};

}  // namespace vramfit::app

#endif
