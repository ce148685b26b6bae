#include "doctor/remedies.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::doctor {

namespace {

// The name of the card's kind in PyTorch; AMD's has NVIDIA's.
std::string device_of(const Scene& scene) {
  if (scene.oom != nullptr && scene.oom->device == model::OomDevice::kXpu) return "xpu";
  if (scene.oom != nullptr && scene.oom->device == model::OomDevice::kNpu) return "npu";
  return "cuda";
}

}  // namespace

void offer_fit(const Scene& scene, Draft& draft) {
  if (!scene.is_of_cuda()) return;  // what it proves, it proves for cards of NVIDIA's
  draft.fix({"Find the cheapest changes that make the job fit this card, each one proven by a run",
             scene.command_of("fit"), std::nullopt, "depends on the plan chosen; each is shown with its own",
             scene.given.command.empty() ? Applicability::kFillIn : Applicability::kAsIs});
}

void offer_smaller_batch(const Scene& scene, Draft& draft) {
  const char* const what = "Use a smaller batch; accumulate gradients if the effective batch must stay";
  if (scene.in_force.batch_size == 1) {
    draft.withhold(what,
                   "the batch size is 1 already" + (scene.in_force.seen_batch_size
                                                        ? " (" + scene.in_force.seen_batch_size->file + ":" +
                                                              std::to_string(scene.in_force.seen_batch_size->line) + ")"
                                                        : std::string()));
    return;
  }
  const bool infers = scene.at.evaluation || scene.at.inference;
  draft.fix({infers ? "Use a smaller batch here" : what,
             infers ? "DataLoader(..., batch_size=SMALLER)"
                    : "(loss / 2).backward()  # optimizer.step() after every second batch",
             std::nullopt, infers ? "little" : "little, until the card is no longer busy", Applicability::kFillIn});
}

void offer_mixed_precision(const Scene& scene, Draft& draft) {
  const char* const what = "Compute in bf16 (or fp16 with a GradScaler): about half of the activations";
  if (scene.in_force.mixed_precision) {
    draft.withhold(what, "16-bit precision is in use already");
    return;
  }
  const std::string name = device_of(scene);
  draft.fix({what, "with torch.autocast(\"" + name + "\", dtype=torch.bfloat16): ...  # forward pass, loss",
             std::nullopt, name == "cuda" ? "none: faster on cards with tensor cores" : "none to little",
             Applicability::kMayBeWrong});
}

void offer_checkpointing(const Scene& scene, Draft& draft) {
  const char* const what = "Recompute activations in the backward pass instead of keeping them";
  if (scene.at.evaluation || scene.at.inference) return;
  if (scene.in_force.checkpointing) {
    draft.withhold(what, "activation checkpointing is in use already");
    return;
  }
  draft.fix({what,
             "model.gradient_checkpointing_enable()  # transformers\n"
             "x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)",
             std::nullopt, "about one more forward pass: 20 to 35 %", Applicability::kFillIn});
}

void offer_no_grad(const Scene& scene, Draft& draft, std::optional<model::Bytes> saves) {
  const char* const what = "Run the evaluation without gradients";
  if (scene.in_force.no_grad) {
    draft.withhold(what, "it runs under torch.no_grad() already");
    return;
  }
  draft.fix({what, "model.eval()\nwith torch.inference_mode():  # or torch.no_grad()\n    for batch in loader: ...",
             saves, "none: faster", Applicability::kAsIs});
}

void offer_expandable_segments(const Scene& scene, Draft& draft) {
  const std::string name = scene.platform.rocm ? "PYTORCH_HIP_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
  const char* const what = "Let PyTorch's segments grow instead of asking for new ones";
  const auto offer_fewer_splits = [&] {
    draft.fix({"Do not split large blocks for small requests", name + "=max_split_size_mb:128", std::nullopt,
               "some: more calls of the driver", Applicability::kMayBeWrong});
  };
  if (scene.in_force.no_expandable) {
    draft.withhold(what, "this platform has no expandable segments: PyTorch says so itself (" +
                             scene.in_force.no_expandable->file + ":" +
                             std::to_string(scene.in_force.no_expandable->line) + ")");
    return offer_fewer_splits();
  }
  if (scene.in_force.expandable_segments) {
    draft.withhold(what, "expandable_segments is on already" +
                             (scene.in_force.seen_expandable && scene.in_force.seen_expandable->line > 0
                                  ? " (" + scene.in_force.seen_expandable->file + ":" +
                                        std::to_string(scene.in_force.seen_expandable->line) + ")"
                                  : std::string()));
    return;
  }
  if (scene.in_force.malloc_async) {
    draft.withhold(what, "the back end is cudaMallocAsync, which has no segments");
    return;
  }
  if (scene.platform.windows && !scene.platform.wsl) {
    draft.withhold(what, "expandable segments do not exist on Windows");
    return;
  }
  if (scene.oom != nullptr && scene.oom->form < model::OomForm::kProcesses &&
      scene.oom->form != model::OomForm::kPartial) {
    // Releases up to 2.0 print the older forms; expandable segments came with 2.1.
    draft.withhold(what, "this release of PyTorch has no expandable segments (2.1 and later do)");
    return offer_fewer_splits();
  }
  draft.fix(
      {what, "export " + name + "=expandable_segments:True", std::nullopt, "none to little", Applicability::kAsIs});
}

void offer_fewer_layers(Draft& draft) {
  draft.fix({"Put fewer layers on the card", "-ngl LAYERS  # llama.cpp; in Ollama: PARAMETER num_gpu LAYERS",
             std::nullopt, "layers on the CPU are slow", Applicability::kFillIn});
}

void offer_shorter_context(std::int64_t tokens, Draft& draft) {
  draft.fix({"A shorter context", fmt::format("-c {0}  # llama.cpp; in Ollama: PARAMETER num_ctx {0}", tokens),
             std::nullopt, "shorter conversations", Applicability::kFillIn});
}

void offer_smaller_quantization(Draft& draft) {
  draft.fix({"A smaller quantization of the weights, such as Q4_K_M", "", std::nullopt, "less exact",
             Applicability::kMayBeWrong});
}

void offer_smaller_blocks_of_vulkan(Draft& draft) {
  draft.fix({"Let llama.cpp ask for its weights in smaller blocks, where the driver gives no large one",
             "export GGML_VK_FORCE_MAX_ALLOCATION_SIZE=1073741824  # bytes", std::nullopt, "none",
             Applicability::kMayBeWrong});
}

void offer_more_pages(Draft& draft) {
  draft.fix({"Let it map more of the host's memory (the driver's GTT limit: half of it, as a rule)",
             "ttm.pages_limit=PAGES ttm.page_pool_size=PAGES  # of 4 KiB each, on the kernel's command line; older "
             "kernels: amdgpu.gttsize=MIB; see\n"
             "cat /sys/module/ttm/parameters/pages_limit /sys/class/drm/card*/device/mem_info_gtt_total",
             std::nullopt, "none: a reboot, and less for the host", Applicability::kFillIn});
}

void offer_more_pages_to_apu(const Scene& scene, Draft& draft) {
  const bool is_shown = std::ranges::any_of(scene.texts.files, [](const model::TextFile& file) {
    return mentions(file.sample, {"gfx1150", "gfx1151", "gfx1152", "strix halo", "strix point", "ryzen ai max",
                                  "radeon 8060s", "radeon 8050s", "radeon 890m"});
  });
  if (scene.platform.windows || !(is_shown || find_remark(scene, model::SentenceKind::kGttLimit) != nullptr)) return;
  offer_more_pages(draft);
}

void ask_for_snapshot(const Scene& scene, Draft& draft) {
  if (!scene.snapshots.empty() || scene.is_of_mps() || device_of(scene) != "cuda") return;
  draft.confirm(
      "a memory snapshot: torch.cuda.memory._record_memory_history() at the start, "
      "torch.cuda.memory._dump_snapshot(\"snap.pickle\") at the failure; then vramfit doctor snap.pickle");
}

void ask_for_script(const Scene& scene, Draft& draft) {
  if (scene.has_run() || !scene.is_of_cuda()) return;
  draft.confirm("a run of the script itself, which needs no GPU: " + scene.command_of("doctor"));
}

void ask_for_traceback(const Scene& scene, Draft& draft) {
  if (!scene.stack.empty()) return;
  draft.confirm("the whole traceback above the message: it tells in which phase it failed");
}

}  // namespace vramfit::doctor
