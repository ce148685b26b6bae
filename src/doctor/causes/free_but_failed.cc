#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// Another program's request, and what a line beside it says was free.
void look_at_other_programs(const Scene& scene, Draft& draft) {
  constexpr std::int64_t kLinesBeside = 6;
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    const auto asked = std::ranges::find(dump.sizes, "requested", &model::NamedBytes::name);
    if (!says_failure(dump) || asked == dump.sizes.end()) continue;
    for (const model::TrainingLogPoint& point : scene.texts.training) {
      if (!point.free || point.at.file != dump.at.file || std::abs(point.at.line - dump.at.line) > kLinesBeside)
        continue;
      if (point.free->value.count() < asked->bytes.value.count() * 5 / 4) continue;
      draft.weigh(0.75).because(dump.at, fmt::format("{} were asked for", show(asked->bytes)));
      draft.because(point.at, fmt::format("and {} were free", show(point.free)));
      return;
    }
  }
}

void find_free_but_failed(const Scene& scene, Draft& draft) {
  if (scene.oom == nullptr) look_at_other_programs(scene, draft);
  const Terms& terms = scene.terms;
  if (scene.oom == nullptr || !terms.free || !terms.tried || terms.allowed) return;
  if (surely_above(terms.live, terms.total) || !surely_above(terms.free, terms.tried)) return;
  const model::Bytes beyond = terms.free->value - terms.tried->value;
  const bool far = terms.free->value.count() >= terms.tried->value.count() * 2 && beyond >= model::Bytes::mib(200);
  const bool clear = beyond >= model::Bytes::mib(500);
  draft.weigh(far ? 0.84 : clear ? 0.7 : beyond >= model::Bytes::mib(64) ? 0.45 : 0.2);
  if (scene.in_force.memory_fraction) draft.adjust(-0.3);
  if (scene.ooms.size() > 1) draft.adjust(-0.05);
  draft.because(scene.oom_line(), fmt::format("{} free, {} asked for, and no limit of the process is printed",
                                              show(terms.free), show(terms.tried)));
  draft.because("free is read after the failure: another process or thread may have let go of it meanwhile");
  draft.confirm("a second try; nvidia-smi -l 1 beside the job; the platform (WSL, vGPU, a container with a limit)");
  if (scene.platform.windows && !scene.platform.wsl) {
    draft.fix(
        {"Windows: enlarge the paging file, which backs the card's memory too; fewer worker processes need less of it",
         "System Properties - Advanced - Performance - Virtual memory", std::nullopt, "none",
         Applicability::kMayBeWrong});
    return;
  }
  draft.fix({"Under WSL and vGPU: the guest's own budget is less than the card; give it more, or use less",
             ".wslconfig: [wsl2] memory=32GB", std::nullopt, "none", Applicability::kMayBeWrong});
  draft.fix({"If several jobs share the card, start them one after the other", "", std::nullopt, "none",
             Applicability::kMayBeWrong});
}

}  // namespace

const Cause kFreeButFailed{"VF702",
                           "free_but_failed",
                           "The card had room, and yet the driver refused",
                           "free memory far above the request, no limit of the process itself",
                           "The driver refused although much is free: the memory became free only after the failure "
                           "(another process ended), or "
                           "the platform has a budget of its own: WSL, Windows, a virtual GPU, a control group.",
                           "Look whether it repeats; look for the platform's limit.",
                           find_free_but_failed};

}  // namespace vramfit::doctor
