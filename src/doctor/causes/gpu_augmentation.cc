#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void find_gpu_augmentation(const Scene& scene, Draft& draft) {
  for (const model::InputWork& work : scene.runtime().input_work) {
    model::Bytes peak;
    for (const model::PhaseResult& phase : scene.run()->phases) {
      if (phase.name == work.phase && phase.device == work.device) peak = phase.peaks.allocated;
    }
    const double part = work.peak_is_here ? share(work.stage_peak, peak) : share(work.at_peak, peak);
    if (part < 0.1) continue;
    draft.weigh(scene.run_failed_for_memory() ? std::min(0.92, 0.6 + part) : 0.55);
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(
        fmt::format("the run: between the batch's arrival and the model, work on the card holds {} ({} of the "
                    "peak of {}){}{}",
                    show(work.peak_is_here ? work.stage_peak : work.at_peak), percent(part), work.phase,
                    work.lines.empty() ? "" : ", most of it at ", work.lines.empty() ? "" : work.lines[0].line));
  }
  if (scene.oom != nullptr) {
    const StackEntry* frame = scene.stack.near_end({"kornia", "augment", "transforms/v2", "transforms\\v2", "randaug",
                                                    "colorjitter", "color_jitter", "elastic", "warp_affine"},
                                                   6);
    // `model(x, augment=augment)` is an option of a detector's own forward pass: augmentation of a test, no transform.
    if (frame != nullptr && !mentions(frame->frame.code, {"augment="}))
      draft.weigh(0.62).because(*frame, "inputs are augmented on the card here");
  }
  if (draft.is_empty()) return;
  draft.fix({"Augment on the CPU, in the loader's workers",
             "Dataset.__getitem__: image = transform(image)  # and num_workers up to the number of cores", std::nullopt,
             "none while the workers keep up", Applicability::kFillIn});
  draft.fix({"Augment sample by sample under no_grad, in place where possible",
             "with torch.no_grad(): batch = torch.stack([transform(x) for x in batch])", std::nullopt, "some",
             Applicability::kMayBeWrong});
}

}  // namespace

const Cause kGpuAugmentation{
    "VF114",
    "gpu_augmentation",
    "Augmentation on the card holds a large part of the peak",
    "blocks made between the batch's arrival and the model's forward pass; a frame of an augmentation library",
    "Transforms on the GPU keep several copies of the whole batch (in fp32, at full size) at once, and what they keep "
    "alive until the forward pass adds to its peak.",
    "Augment in the loader's workers, or on the card one sample at a time and without gradients.",
    find_gpu_augmentation};

}  // namespace vramfit::doctor
