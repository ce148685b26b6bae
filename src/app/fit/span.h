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

  // Whether a run in full may show more than this short one did.
  bool is_worth_it(const job::RunOutcome& shorter) const;
  // The request as it goes on for the whole budget, or for what is left of a search's time.
  job::RunRequest in_full(job::RunRequest request, double seconds_left) const;

  // Takes in the long run of the job with plenty, and joins the two. A long run that told nothing changes nothing.
  job::RunOutcome join(job::RunOutcome shorter, job::RunOutcome longer);

  // What candidates run over: nothing but the short cut, unless the peak comes later than that.
  job::Span of_trials() const { return trials_; }
  // What the answer is confirmed over.
  job::Span of_answer() const { return answer_; }
  double answer_seconds() const { return answer_seconds_; }  // what that took the job as it is
  // Steps of training that the job takes from its start to its own end; nothing where the long run left some out.
  std::optional<std::int64_t> whole_steps() const { return whole_steps_; }

 private:
  job::Span budget_, trials_, answer_;
  double answer_seconds_ = 0;
  std::optional<std::int64_t> whole_steps_;
};

}  // namespace vramfit::app

#endif
