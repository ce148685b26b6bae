#include "job/borderline.h"

#include <algorithm>

namespace vramfit::job {

void settle_borderline(const RunRequest& request, RunOutcome& outcome, const RunOnce& run_once) {
  model::RunResult& result = outcome.result;
  const bool died = result.oom && !result.oom->caught;
  if (result.verdict != model::Verdict::kBorderline || !died) return;
  RunRequest roomier = request;
  roomier.quiet_child = true;
  roomier.child_output.clear();
  roomier.files.keep.clear();
  constexpr std::int64_t kFurther = 10;  // batches and steps, for what the job wants a moment later
  if (result.reach.batches > 0) roomier.span = {0, result.reach.batches + kFurther};
  for (const model::DeviceResult& device : result.devices) {
    const auto index = static_cast<std::size_t>(device.index);
    if (index < roomier.cards.size()) roomier.cards[index].total = device.total + device.context_uncertainty;
  }
  const auto second = run_once(roomier);
  if (second && second->result.exit_code == 0) {
    result.reason += "; with that much more room it runs";
    return;
  }
  if (second && second->result.timed_out) return;  // it says nothing about memory
  result.verdict = model::Verdict::kOutOfMemory;
  result.reason.clear();
}

}  // namespace vramfit::job
