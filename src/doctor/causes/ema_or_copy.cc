#include <fmt/format.h>

#include <algorithm>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void look_at_holders(const Scene& scene, Draft& draft) {
  if (!scene.runtime().oom) return;
  for (const model::TensorGroup& held : scene.runtime().oom->holders) {
    const std::string name = lowered(held.holder.name);
    if (!mentions(name, {"ema", "shadow", "best", "copy", "teacher", "backup", "snapshot"})) continue;
    draft.weigh(0.6).because(fmt::format("the run: {} `{}` holds {} in {} tensors when it ran out",
                                         to_string(held.holder.kind), held.holder.name, show(held.bytes),
                                         held.tensors));
  }
}

// Averages, teachers and target networks are copies that training wants. Where the card has room for as much again,
// they harm nobody.
bool harms(const model::WeightCopy& copy, const Scene& scene) {
  if (scene.run_failed_for_memory()) return true;
  return std::ranges::any_of(scene.run()->devices, [&](const model::DeviceResult& device) {
    return device.peaks.device.count() > 0 && device.total - device.peaks.device < copy.bytes;
  });
}

// Tensors of the weights' own shapes besides them, found while the run trained.
void look_at_copies(const Scene& scene, Draft& draft) {
  for (const model::WeightCopy& copy : scene.runtime().weight_copies) {
    model::Bytes peak;
    for (const model::DeviceResult& device : scene.run()->devices) peak = std::max(peak, device.peaks.allocated);
    if (share(copy.bytes, peak) < 0.1 || !harms(copy, scene)) continue;
    draft.weigh(scene.run_failed_for_memory() ? 0.6 : 0.5);
    if (!scene.run_failed_for_memory()) draft.severity(model::Severity::kWarning);
    draft.because(
        fmt::format("the run: {} tensors of the weights' own shapes, {}, live besides them, held by {} `{}`{}",
                    copy.tensors, show(copy.bytes), to_string(copy.holder.kind), copy.holder.name,
                    copy.line.empty() ? "" : ", made at " + copy.line));
  }
}

void find_ema_or_copy(const Scene& scene, Draft& draft) {
  look_at_holders(scene, draft);
  if (scene.has_run()) look_at_copies(scene, draft);
  if (scene.oom != nullptr && !scene.at.checkpoint_load) {
    const StackEntry* copy = scene.stack.function_is({"deepcopy", "__deepcopy__", "_reconstruct", "_deepcopy_dict"});
    if (copy == nullptr) copy = scene.stack.in_code({"deepcopy("});
    const StackEntry* ema = scene.stack.near_end(
        {"ema", "swa_utils", "averagedmodel", "moving_average", "shadow_params", "copy_to(", "swap_parameters"}, 4);
    const StackEntry* clone =
        scene.stack.near_end({"state_dict()", "clone() for", ".data.clone()", "detach().clone()"}, 2);
    const bool restores = scene.stack.in_code({".load_state_dict("}) != nullptr;
    if (copy != nullptr && restores) {
      draft.weigh(0.45).because(*copy, "what was loaded is copied on the card here");
    } else if (copy != nullptr) {
      const StackEntry* own = scene.stack.in_own_code({"copy"});
      draft.weigh(0.84).because(own != nullptr ? *own : *copy,
                                "a whole object with its tensors is copied on the card here");
    } else if (ema != nullptr && !mentions(ema->frame.file, {"schema", "gemma"}) &&
               !mentions(ema->frame.function, {"schema", "gemma", "semantic"})) {
      draft.weigh(0.7).because(*ema, "an averaged copy of the weights is made or swapped here");
    } else if (clone != nullptr && mentions(clone->frame.code, {"clone", "copy"})) {
      draft.weigh(0.72).because(*clone, "weights are copied on the card here");
    }
  }
  if (draft.is_empty()) return;
  draft.fix({"Keep copies of weights in host memory",
             "best = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}", std::nullopt,
             "one copy to the host when it is made", Applicability::kMayBeWrong});
  draft.fix({"Average on the host, or in the optimizer's dtype only once",
             "torch.optim.swa_utils.AveragedModel(model, device=\"cpu\")", std::nullopt, "some at each update",
             Applicability::kMayBeWrong});
}

}  // namespace

const Cause kEmaOrCopy{
    "VF206",
    "ema_or_copy",
    "A second copy of the weights is made on the card",
    "a frame of deepcopy, of a moving average or of cloning a state_dict; requests of the parameters' sizes",
    "copy.deepcopy(model), a moving average of the weights, keeping the best state_dict, swapping weights for "
    "evaluation: "
    "each is a second model on the card, and some make a third for a moment.",
    "Keep the copy on the host.",
    find_ema_or_copy};

}  // namespace vramfit::doctor
