#include <fmt/format.h>

#include "doctor/causes/causes.h"
#include "doctor/remedies.h"
#include "model/number_text.h"

namespace vramfit::doctor {

namespace {

void find_optimizer_state_first_step_in_run(const Scene& scene, Draft& draft) {
  for (const model::FirstOptimizerStep& step : scene.runtime().first_steps) {
    if (step.out_of_memory) {
      draft.weigh(0.95).because(
          fmt::format("the run: {} failed in its first step after making {} of its state{}; before it the peak was {}",
                      step.optimizer, show(step.state),
                      step.expected_state ? fmt::format(" of {}", show(*step.expected_state)) : std::string(),
                      show(step.peak_before)));
    } else if (scene.run_failed_for_memory() && scene.runtime().oom &&
               scene.runtime().oom->stage == model::stage::kOptimizer && scene.runtime().oom->train_steps == 0) {
      draft.weigh(0.9).because("the run: it failed in the optimizer's first step");
    }
  }
}

// Frames of what spreads the state over the cards already.
const StackEntry* find_sharding(const Scene& scene) {
  return scene.stack.in_file({"zero_optimizer", "runtime/zero/", "runtime\\zero\\", "fsdp", "distributed_fused_adam",
                              "zero_redundancy_optimizer", "distrib_optimizer"});
}

void offer_sharding(const Scene& scene, Draft& draft) {
  const char* const spread = "Spread the state over the cards";
  const StackEntry* sharding = find_sharding(scene);
  if (sharding == nullptr) {
    draft.fix({spread, "FullyShardedDataParallel, or DeepSpeed ZeRO stage 1", std::nullopt, "some communication",
               Applicability::kFillIn});
    return;
  }
  draft.withhold(spread, fmt::format("it is: {}", describe(sharding->frame)));
  const bool is_deepspeed = scene.stack.in_file({"deepspeed"}) != nullptr;
  if (is_deepspeed && scene.stack.in_file({"stage3"}) == nullptr) {
    draft.fix({"Spread gradients and weights too", "\"zero_optimization\": {\"stage\": 3}", std::nullopt,
               "more communication", Applicability::kMayBeWrong});
  }
  draft.fix({"Keep the optimizer's state on the host",
             is_deepspeed ? "\"zero_optimization\": {\"offload_optimizer\": {\"device\": \"cpu\"}}"
                          : "fully_shard(..., offload_policy=CPUOffloadPolicy())",
             std::nullopt, "the optimizer's step runs on the CPU", Applicability::kMayBeWrong});
}

// A frame that makes state: a function for it, or a line that makes a tensor and names one of the state's. A line that
// only reads it (`torch._foreach_sqrt(device_exp_avg_sqs)`) makes temporaries, in every step.
const StackEntry* find_making(const Stack& stack) {
  constexpr std::size_t kInnermost = 4;
  const auto& entries = stack.entries();
  for (std::size_t i = entries.size(); i > 0 && entries.size() - i < kInnermost; --i) {
    const model::TraceFrame& frame = entries[i - 1].frame;
    const bool names_state = mentions(frame.code, {"exp_avg", "momentum_buffer", "square_avg", "state[\"", "state['"});
    const bool makes = mentions(frame.code, {"zeros", "empty", "full", "clone", "ones_like"});
    if (mentions(frame.function, {"init_group", "init_state", "initialize_optimizer_states", "state_init",
                                  "get_state_buffer", "init_fp32", "initialize_state"}) ||
        mentions(frame.code, {"zeros_like(p", "_init_group(", "init_state(", "get_state_buffer("}) ||
        (names_state && makes)) {
      return &entries[i - 1];
    }
  }
  return nullptr;
}

// Adam's kernels over all parameters at once: what they lack is room for a temporary copy.
bool makes_temporaries(const Stack& stack) { return stack.near_end({"torch._foreach_", "denom"}, 2) != nullptr; }

void find_optimizer_state_first_step(const Scene& scene, Draft& draft) {
  find_optimizer_state_first_step_in_run(scene, draft);
  if (scene.oom != nullptr && (scene.at.optimizer || scene.stack.is_marked(model::FramePhase::kOptimizerState))) {
    const StackEntry* state = find_making(scene.stack);
    const bool late = scene.steps_done && *scene.steps_done > 2;
    if (state != nullptr) {
      draft.weigh(late ? 0.5 : 0.86).because(*state, "the optimizer makes its state here");
    } else if (scene.at.optimizer && !scene.at.backward && !late && !makes_temporaries(scene.stack)) {
      // A log tells whether it is the first step; the frame does not.
      const bool first = scene.steps_done.has_value();
      draft.weigh(first ? 0.58 : 0.5);
      draft.because(*scene.stack.innermost(), first ? "it failed in the optimizer's step"
                                                    : "it failed in the optimizer's step; nothing says in which");
    }
    if (late && !draft.is_empty())
      draft.because(*scene.steps_seen, fmt::format("but {} steps had been done before", *scene.steps_done));
  }
  if (draft.is_empty()) return;
  if (scene.oom_has_numbers && scene.terms.live) {
    draft.because(scene.oom_line(),
                  fmt::format("{} are live before it: weights, gradients and activations; Adam adds twice the weights",
                              show(scene.terms.live)));
  }
  draft.fix({"An optimizer with less state: 8 bits a number instead of 32", "bitsandbytes.optim.AdamW8bit(...)",
             std::nullopt, "little", Applicability::kMayBeWrong});
  draft.fix({"No temporary copies of all parameters at once", "torch.optim.AdamW(..., fused=True)  # or foreach=False",
             std::nullopt, "none with fused", Applicability::kMayBeWrong});
  offer_sharding(scene, draft);
  offer_fit(scene, draft);
}

}  // namespace

const Cause kOptimizerStateFirstStep{
    "VF111",
    "optimizer_state_first_step",
    "The optimizer makes its state in the first step, and that is what no longer fits",
    "a frame of the optimizer making its state (zeros_like, exp_avg) before the first step is done",
    "Adam keeps two numbers for each parameter and makes them at the first step, not before. The forward and backward "
    "pass of step one fit; every later step has that much less room.",
    "An optimizer with less state (8-bit, Adafactor, SGD), fused or foreach=False, sharded state, LoRA.",
    find_optimizer_state_first_step};

}  // namespace vramfit::doctor
