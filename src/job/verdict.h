// Turns what a run left behind into one of four words.
#ifndef VRAMFIT_JOB_VERDICT_H
#define VRAMFIT_JOB_VERDICT_H

#include <optional>
#include <string>

#include "base/bytes.h"
#include "model/run_result.h"

namespace vramfit::job {

struct ExitEvidence {
  bool exit_zero = false;
  bool killed = false;  // by SIGKILL, which leaves no word of who sent it
  bool timed_out = false;
  bool interrupted = false;
  bool reached_card = false;  // some process took memory of a card
  bool uncaught_oom = false;  // the hooks saw the script die of an OOM, or it died with one and no other error
  bool plan_refused = false;
  std::optional<std::string> loss;  // something was not seen with which the answer might be another
  std::optional<base::Bytes>
      margin;               // of the fullest card: what is left of it, with what PyTorch would give back of its cache
  bool caught_oom = false;  // it ran out, went on, and ended for another reason
  std::optional<base::Bytes> shortfall;  // how much more room the refused allocation needed
  base::Bytes uncertainty;               // of the context model, on that card
};

struct Judgement {
  model::Verdict verdict = model::Verdict::kFailed;
  std::string reason;
};

Judgement judge(const ExitEvidence& evidence);

}  // namespace vramfit::job

#endif
