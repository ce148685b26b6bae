#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void find_loader_on_gpu_in_run(const Scene& scene, Draft& draft) {
  for (const model::ThreadMemory& thread : scene.runtime().threads) {
    model::Bytes peak;
    for (const model::DeviceResult& device : scene.run()->devices) {
      if (device.index == thread.device) peak = device.peaks.allocated;
    }
    const double part = share(thread.peak, peak);
    if (thread.role != model::ThreadRole::kPin || part < 0.02) continue;
    const bool there = scene.runtime().oom && scene.runtime().oom->thread == model::ThreadRole::kPin;
    draft.weigh(scene.run_failed_for_memory() ? (there ? 0.95 : std::min(0.95, 0.65 + part)) : 0.7);
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(fmt::format("the run: the loader's pin thread holds {} of the card ({} of the peak), made at {}",
                              show(thread.peak), percent(part), thread.line));
  }
}

void find_loader_on_gpu(const Scene& scene, Draft& draft) {
  if (scene.has_run()) find_loader_on_gpu_in_run(scene, draft);
  if (scene.oom != nullptr && scene.at.pin_thread && scene.oom_has_numbers) {
    draft.weigh(0.86).because(
        scene.oom_line(),
        "the message has a card's numbers and was raised in the loader's pin thread, which has no "
        "business on the card");
    const StackEntry* own = scene.stack.in_own_code({"cuda", ".to("});
    if (own != nullptr) draft.because(*own, "here it puts tensors on the card");
  }
  if (draft.is_empty()) return;
  draft.fix({"Let pin_memory() only pin, and move batches in the loop",
             "def pin_memory(self): self.images = self.images.pin_memory(); return self\n"
             "for batch in loader: images = batch.images.to(device, non_blocking=True)",
             std::nullopt, "none", Applicability::kMayBeWrong});
  draft.fix({"Or have the thread run less far ahead", "DataLoader(..., num_workers=1, prefetch_factor=1)", std::nullopt,
             "loading may become the bottleneck", Applicability::kMayBeWrong});
}

}  // namespace

const Cause kLoaderOnGpu{
    "VF404",
    "loader_on_gpu",
    "The loader's pin thread puts batches on the card, ahead of the loop",
    "an out-of-memory message with a card's numbers raised in _pin_memory_loop; blocks made by the pin thread",
    "A batch class whose pin_memory() moves tensors to the GPU (or makes tensors there) works in the loader's thread, "
    "which runs ahead of the loop. Two or more batches are on the card beside the current one.",
    "Pin in the thread, move in the loop.",
    find_loader_on_gpu};

}  // namespace vramfit::doctor
