#include "job/verdict.h"

#include <fmt/format.h>

namespace vramfit::job {

using model::Verdict;

Judgement judge(const ExitEvidence& evidence) {
  if (evidence.uncaught_oom) {
    if (evidence.shortfall && *evidence.shortfall <= evidence.uncertainty) {
      return {Verdict::kBorderline,
              fmt::format(
                  "it ran out by {}, less than the uncertainty of the CUDA context's size ({}): on the real card this "
                  "allocation may succeed",
                  to_string(*evidence.shortfall), to_string(evidence.uncertainty))};
    }
    return {Verdict::kOutOfMemory, ""};
  }
  if (evidence.timed_out) return {Verdict::kFailed, "the time limit passed"};
  if (evidence.interrupted) return {Verdict::kFailed, "it was ended before there was an answer"};
  if (evidence.plan_refused) return {Verdict::kFailed, "a part of the plan could not be applied to this script"};
  if (evidence.killed) {
    return {
        Verdict::kFailed,
        "the script was killed, perhaps by the kernel for want of host memory (dmesg tells), and not for want of the "
        "card's"};
  }
  if (!evidence.exit_zero && evidence.caught_oom) {
    return {Verdict::kFailed, "the script ran out of memory, went on, and then failed: perhaps for want of it"};
  }
  if (!evidence.exit_zero) return {Verdict::kFailed, "the script failed, not for want of memory"};
  if (!evidence.reached_card) return {Verdict::kNoCard, "the script ended without ever using a card"};
  if (evidence.margin && *evidence.margin < evidence.uncertainty) {
    return {Verdict::kBorderline,
            fmt::format("{} are left with what PyTorch would give back of its cache, less than the uncertainty of the "
                        "CUDA context's size ({})",
                        to_string(*evidence.margin), to_string(evidence.uncertainty))};
  }
  if (evidence.loss) return {Verdict::kBorderline, fmt::format("it fits as far as was seen, but {}", *evidence.loss)};
  return {Verdict::kFits, ""};
}

}  // namespace vramfit::job
