#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void find_windows_shared_memory(const Scene& scene, Draft& draft) {
  const Terms& terms = scene.terms;
  if (scene.oom == nullptr || !terms.total) return;
  const Size held = terms.reserved ? terms.reserved : terms.allocated;
  const bool beyond = surely_above(held, terms.total) || surely_above(terms.allocated, terms.total);
  const bool none_free = terms.free && terms.free->high.count() == 0;
  const bool clauses = !scene.oom->processes.empty() || scene.oom->this_process.has_value();
  const double gap = share(terms.outside, terms.total);
  if (beyond) {
    draft.weigh(0.94).because(scene.oom_line(),
                              fmt::format("{} are held of a card of {}: the driver put the rest into host "
                                          "memory, as it does on Windows and WSL",
                                          show(held), show(terms.total)));
  } else if (none_free && !clauses && gap > 0.2 && !scene.platform.rocm) {
    draft.weigh(scene.platform.windows || scene.platform.wsl ? 0.6 : 0.45);
    draft.because(scene.oom_line(),
                  fmt::format("0 bytes are said to be free while PyTorch holds {} of {}, and no process is "
                              "listed: so reports Windows's driver",
                              show(held), show(terms.total)));
  }
  if (draft.is_empty()) return;
  if (scene.platform.seen && (scene.platform.windows || scene.platform.wsl)) {
    draft.because(*scene.platform.seen, "the platform");
  }
  draft.fix({"Keep the driver from spilling into host memory, which is many times slower",
             "NVIDIA control panel: CUDA - Sysmem Fallback Policy: Prefer No Sysmem Fallback", std::nullopt,
             "none: faster", Applicability::kMayBeWrong});
  offer_fit(scene, draft);
  offer_smaller_batch(scene, draft);
}

}  // namespace

const Cause kWindowsSharedMemory{"VF701",
                                 "windows_shared_memory",
                                 "Windows's driver pages the card's memory to the host",
                                 "more allocated than the card has; \"0 bytes is free\" without any process listed",
                                 "On Windows and WSL the driver gives out more than the card has and moves pages to "
                                 "host memory. The job becomes many "
                                 "times slower before it fails, and the numbers of free memory mean little.",
                                 "Make the job fit the card's own memory; turn the fallback off to fail early.",
                                 find_windows_shared_memory};

}  // namespace vramfit::doctor
