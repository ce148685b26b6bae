#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"
#include "model/owner_names.h"

namespace vramfit::doctor {

namespace {

// Weights alone fill the card, and no gradient was ever made.
void find_placement_no_headroom_in_run(const Scene& scene, Draft& draft) {
  if (!scene.run_failed_for_memory() || scene.at.training) return;
  model::Bytes weights, all;
  for (const model::OwnerRow& row : scene.run()->owners_at_peak) {
    if (row.device != scene.run()->peak_device) continue;
    all += row.bytes;
    if (row.owner == model::owner::kWeights || row.owner == model::owner::kBuffers) weights += row.bytes;
    if (row.owner == model::owner::kGradients || row.owner == model::owner::kOptimizer) return;
  }
  if (share(weights, all) < 0.7 || !scene.at.forward) return;
  draft.weigh(0.8).because(fmt::format("the run: {} of {} on the card are weights when the forward pass asks for more",
                                       show(weights), show(all)));
}

// llama.cpp and Ollama put as many layers on the card as they were told, or guessed.
bool look_at_llama(const Scene& scene, Draft& draft) {
  const model::ForeignDump* refused = nullptr;
  const model::ForeignDump* weights = nullptr;
  const model::ForeignDump* buffers = nullptr;
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.program != "llama.cpp") continue;
    if (dump.kind == model::ForeignKind::kKvCache) return false;  // VF103
    if (dump.kind == model::ForeignKind::kWeights && weights == nullptr) weights = &dump;
    if (dump.kind == model::ForeignKind::kComputeBuffers && buffers == nullptr) buffers = &dump;
    if (dump.kind == model::ForeignKind::kOutOfMemory && refused == nullptr) refused = &dump;
  }
  if (weights == nullptr && refused == nullptr && buffers == nullptr) return false;
  if (find_cache_above_weights(scene) != nullptr) return false;  // VF103
  // Vulkan's drivers refuse a little now and then with much free: alone that tells nothing of the layers.
  constexpr Bytes kLittle = Bytes::gib(1);
  const bool is_little = refused != nullptr && !refused->sizes.empty() &&
                         refused->sizes.front().bytes.value < kLittle && mentions(refused->at.text, {"vulkan"});
  draft.weigh(weights != nullptr ? 0.72 : buffers != nullptr ? 0.68 : is_little ? 0.25 : 0.55);
  draft.title(buffers == nullptr ? "The layers put on the card are more than it has free"
                                 : "The layers put on the card leave no room for the buffers beside them");
  if (buffers != nullptr) draft.because(buffers->at, "buffers for computing could not be had beside the weights");
  for (const model::ForeignDump* dump : {refused, weights}) {
    if (dump == nullptr) continue;
    draft.because(dump->at, dump->sizes.empty() ? "weights were being loaded, and the driver refused"
                                                : fmt::format("one buffer of {} was asked for, and the driver refused",
                                                              show(dump->sizes.front().bytes)));
  }
  offer_more_pages_to_apu(scene, draft);
  offer_fewer_layers(draft);
  if (buffers != nullptr) offer_shorter_context(4096, draft);
  offer_smaller_quantization(draft);
  const bool is_nvidia = std::ranges::none_of(scene.texts.foreign, [](const model::ForeignDump& dump) {
    return mentions(dump.at.text, {"vulkan", "vk::", "rocm", "sycl"});
  });
  draft.confirm(std::string(is_nvidia ? "nvidia-smi" : "amdgpu_top, intel_gpu_top or nvidia-smi") +
                " just before: how much of the card is free, and who has the rest");
  return true;
}

// transformers refuses to quantize what a device map put elsewhere for want of room.
bool look_at_dispatch(const Scene& scene, Draft& draft) {
  for (const model::Remarkable& remark : scene.texts.remarks) {
    if (!mentions(remark.at.text, {"modules are dispatched on the cpu"})) continue;
    draft.weigh(0.82).title("The weights do not fit the cards they were to be placed on");
    draft.because(remark.at, "the device map found no room for all modules on the cards that it may use");
    draft.fix({"Let the map use more of each card, or more cards",
               "from_pretrained(..., device_map=\"auto\", max_memory={0: \"GIB_YOU_ALLOW\", 1: \"GIB_YOU_ALLOW\"})",
               std::nullopt, "none", Applicability::kFillIn});
    draft.fix({"Allow those modules on the host, in 32 bits",
               "BitsAndBytesConfig(load_in_8bit=True, llm_int8_enable_fp32_cpu_offload=True)", std::nullopt,
               "layers on the CPU are slow", Applicability::kMayBeWrong});
    draft.confirm("nvidia-smi just before: how much of each card is free");
    return true;
  }
  return false;
}

void find_placement_no_headroom(const Scene& scene, Draft& draft) {
  find_placement_no_headroom_in_run(scene, draft);
  if (scene.oom == nullptr && look_at_dispatch(scene, draft)) return;
  if ((scene.oom == nullptr || !scene.oom_has_numbers) && look_at_llama(scene, draft)) return;
  if (scene.oom == nullptr || scene.at.training || scene.at.serving) return;
  const bool tight = share(scene.terms.reserved, scene.terms.total) >= 0.7 || !scene.oom_has_numbers;
  const StackEntry* hooks = scene.stack.in_file({"accelerate/hooks.py", "accelerate\\hooks.py"});
  const StackEntry* dispatch = scene.stack.in_function(
      {"dispatch_model", "set_module_tensor_to_device", "load_checkpoint_in_model", "_load_state_dict_into_meta"});
  const StackEntry* map = scene.stack.in_code({"device_map", "max_memory"});
  if (hooks != nullptr && scene.at.forward && tight) {
    draft.weigh(0.68).because(*hooks, "the model was spread by a device map, and its first forward pass found no room");
  } else if ((dispatch != nullptr || map != nullptr) && tight) {
    draft.weigh(0.6).because(dispatch != nullptr ? *dispatch : *map, "weights were placed by a device map");
  } else if (scene.at.placing && tight) {
    draft.weigh(0.4);
  } else if (scene.at.inference && scene.at.forward && share(scene.terms.live, scene.terms.total) >= 0.85 &&
             share(scene.terms.tried, scene.terms.total) < 0.05) {
    draft.weigh(scene.at.under_no_grad ? 0.58 : 0.45)
        .because(*scene.stack.innermost(),
                 "an inference ran out on a small request: the weights leave no room for the rest");
  }
  if (draft.is_empty()) return;
  if (scene.oom_has_numbers) {
    draft.because(scene.oom_line(), fmt::format("{} of {} are live before the request of {}", show(scene.terms.live),
                                                show(scene.terms.total), show(scene.terms.tried)));
  }
  offer_more_pages_to_apu(scene, draft);
  draft.fix({"Leave room on each card for what a forward pass needs",
             "from_pretrained(..., device_map=\"auto\", max_memory={0: \"GIB_YOU_ALLOW\", \"cpu\": \"64GiB\"})",
             std::nullopt, "layers on the CPU are slow", Applicability::kFillIn});
  draft.fix({"Load the weights in 16 or 8 bits", "from_pretrained(..., dtype=torch.bfloat16)", std::nullopt, "none",
             Applicability::kMayBeWrong});
}

}  // namespace

const Cause kPlacementNoHeadroom{
    "VF102",
    "placement_no_headroom",
    "The weights were placed so that nothing is left for a forward pass",
    "a device map in the frames, a first forward pass that fails on a small request with the card full of weights, or "
    "llama.cpp's own text",
    "Loading the weights succeeds and fills the card (a device map does so on purpose). The first forward pass then "
    "needs activations, a key-value cache and workspaces, and there is no room for them.",
    "Reserve room when placing (max_memory), load in fewer bits, or put some layers elsewhere.",
    find_placement_no_headroom};

}  // namespace vramfit::doctor
