#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

void look(const Scene& scene, Draft& draft) {
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (!mentions(dump.program, {"vllm", "sglang", "tgi", "lmdeploy"}) || !says_failure(dump)) continue;
    draft.weigh(0.86).because(dump.at, "the server's own words");
    break;
  }
  const StackEntry* warm = scene.stack.in_function(
      {"profile_run", "determine_num_available_blocks", "determine_available_memory", "_dummy_run", "warm_up", "warmup",
       "capture_model", "initialize_cache", "init_cuda_graphs", "_allocate_kv_cache", "init_memory_pool"});
  if (scene.at.serving) {
    draft.weigh(scene.oom != nullptr ? 0.75 : 0.5);
    if (warm != nullptr) draft.weigh(0.85);
    const StackEntry* frame = warm != nullptr ? warm : scene.stack.innermost();
    if (frame != nullptr) draft.because(*frame, "it failed inside the server's own set-up or step");
  }
  if (scene.oom != nullptr && mentions(scene.oom->speaker.process, {"vllmworker", "enginecore", "vllm", "sglang"})) {
    draft.weigh(0.72).because(scene.oom_line(), "a server's worker says so");
  }
  if (draft.is_empty()) return;
  if (scene.oom != nullptr && scene.terms.private_pools) {
    draft.because(scene.oom_line(), fmt::format("{} lie in pools of CUDA graphs", show(scene.terms.private_pools)));
  }
  draft.fix({"Give the server a smaller share of the card, or room for its CUDA graphs",
             "--gpu-memory-utilization 0.85", std::nullopt, "fewer requests at once", Applicability::kMayBeWrong});
  draft.fix({"Limit the longest request", "--max-model-len 8192 --max-num-seqs 64", std::nullopt,
             "longer requests are refused", Applicability::kFillIn});
  draft.fix({"Leave out CUDA graphs", "--enforce-eager", std::nullopt, "slower decoding", Applicability::kMayBeWrong});
}

}  // namespace

const Cause kServingOvercommit{
    "VF103",
    "serving_overcommit",
    "The server's budget for cache and graphs is larger than what the card has left",
    "a server's own text, or its frames of profiling, warm-up, cache or graph capture",
    "Servers of language models fill the card on purpose: weights, then a key-value cache up to a fixed share, then "
    "CUDA graphs on top. The share was set too high for this card, or the longest request leaves no cache at all.",
    "Lower the share, the longest request or the number of sequences; leave out CUDA graphs; use more cards.",
    look};

}  // namespace vramfit::doctor
