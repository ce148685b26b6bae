#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void find_driver_overhead(const Scene& scene, Draft& draft) {
  const Terms& terms = scene.terms;
  const bool listed = scene.oom != nullptr && scene.oom->this_process.has_value() && scene.oom->processes.empty();
  if (listed && terms.others && terms.total) {
    const double part = share(terms.others, terms.total);
    if (part > 0.08) {
      draft.weigh(scene.platform.wsl || scene.platform.windows ? 0.75 : part > 0.25 ? 0.55 : 0.35);
      draft.because(scene.oom_line(), fmt::format("{} of the card ({}) belong to no process that the driver names",
                                                  show(terms.others), percent(part)));
    }
  }
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    if (!status.processes_listed || !status.processes.empty()) continue;
    for (const model::GpuCard& card : status.cards) {
      const double part = share(card.used, card.total);
      if (part < 0.1 || lowered(card.display) == "on") continue;
      const bool failed = scene.has_failure();
      draft.weigh(failed ? (scene.platform.wsl ? 0.7 : 0.5) : 0.45);
      if (!failed) draft.severity(model::Severity::kWarning);
      draft.because(card.at, fmt::format("{} of {} in use on GPU {}, and no process is listed", show(card.used),
                                         show(card.total), card.index.value_or(0)));
    }
  }
  if (const model::Remarkable* told = find_remark(scene, model::SentenceKind::kToldNoProcess))
    draft.weigh(0.6).because(told->at, "memory is held, and no process is seen that holds it, says who wrote this");
  if (draft.is_empty()) return;
  draft.fix({"Look for processes that nvidia-smi does not show (other containers, dead ones)",
             "sudo fuser -v /dev/nvidia*", std::nullopt, "none", Applicability::kAsIs});
  if (!scene.platform.wsl && !scene.platform.windows) return;
  draft.fix({"Under WSL: use as much less as the driver keeps", "wsl --shutdown  # frees what old sessions kept",
             std::nullopt, "ends all WSL sessions", Applicability::kMayBeWrong});
}

}  // namespace

const Cause kDriverOverhead{"VF704",
                            "driver_overhead",
                            "Part of the card is held by no process that can be seen",
                            "memory in use with no process listed, or a gap in the message that belongs to none",
                            "Contexts, the display, the driver's own reserve, WSL's shim (up to many GiB), or a "
                            "process of another container or a "
                            "dead one: used memory that no list of processes explains.",
                            "fuser on the device files; restart what is dead; count it as not available.",
                            find_driver_overhead};

}  // namespace vramfit::doctor
