#include <fmt/format.h>

#include <algorithm>

#include "base/out_of_memory.h"
#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

bool is_distributed(const Scene& scene) {
  return std::any_of(scene.texts.library_errors.begin(), scene.texts.library_errors.end(),
                     [](const model::LibraryError& error) { return lowered(error.library) == "nccl"; }) ||
         (scene.oom != nullptr && scene.oom->speaker.rank) ||
         scene.stack.in_file({"torch/distributed", "deepspeed", "megatron", "nn/parallel", "fsdp"}) != nullptr ||
         !scene.texts.launch_failures.empty() || scene.has_run();
}

void look_at_nccl(const Scene& scene, Draft& draft) {
  for (const model::LibraryError& error : scene.texts.library_errors) {
    if (lowered(error.library) != "nccl") continue;
    // NCCL's own sentences beside the error's name. Not "alloc": its messages name the file they come from,
    // include/alloc.h among them.
    const auto is_memory = [](const std::string& text) {
      return base::says_out_of_memory(text) || mentions(text, {"failed to cuda", "cuda failure 2 "});
    };
    const bool memory = is_memory(error.message) || is_memory(error.at.text);
    if (!memory) continue;
    draft.weigh(0.82).because(error.at, "NCCL takes its buffers outside PyTorch's pool, and none was left");
    break;
  }
}

// What has an allocator of its own and asks the driver itself: a simulator, a compiler of engines, a decoder.
void look_at_other_allocators(const Scene& scene, Draft& draft) {
  if (scene.oom != nullptr) return;
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    const bool is_of_library = dump.kind == model::ForeignKind::kRefused ||
                               (dump.kind == model::ForeignKind::kOutOfMemory && lowered(dump.program) == "tensorrt");
    if (!is_of_library || dump.sizes.empty()) continue;
    draft.weigh(0.6).because(
        dump.at, fmt::format("{} asked the driver for {} itself, outside PyTorch's pool, and got none", dump.program,
                             show(dump.sizes.front().bytes)));
    draft.title("A library beside PyTorch could not get the memory that it asked the driver for");
    return;
  }
}

// On a Mac: what Metal holds for this process beside PyTorch's pools.
void look_at_mps_graphs(const Scene& scene, Draft& draft) {
  const model::OomMessage& oom = *scene.oom;
  const double part = share(oom.metal, oom.allowed);
  if (!surely_above(oom.metal, oom.allocated) || part < 0.3) return;
  draft.weigh(part >= 0.5 ? 0.6 : 0.5)
      .title("Buffers of Metal's own, outside PyTorch's pools, hold much of the Mac's memory");
  draft.because(scene.oom_line(), fmt::format("{} of {} allowed are outside PyTorch's pools, which hold {}",
                                              show(oom.metal), show(oom.allowed), show(oom.allocated)));
  draft.fix({"Fewer shapes: each one of an input compiles and keeps a graph of its own",
             "pad or crop inputs to a few fixed sizes", std::nullopt, "little", Applicability::kFillIn});
  draft.fix({"A newer PyTorch: such growth was mended in several releases", "pip install -U torch", std::nullopt,
             "none", Applicability::kMayBeWrong});
}

void find_library_buffers(const Scene& scene, Draft& draft) {
  look_at_nccl(scene, draft);
  look_at_other_allocators(scene, draft);
  if (scene.is_of_mps()) return look_at_mps_graphs(scene, draft);
  const Terms& terms = scene.terms;
  if (scene.oom != nullptr && terms.context && terms.own_process) {
    const double part = share(terms.context, terms.total);
    const bool large =
        terms.context->value >= model::Bytes::mib(2300) || (part > 0.2 && terms.context->value >= model::Bytes::gib(1));
    if (large) {
      draft.weigh(part > 0.25 ? 0.82 : part > 0.12 ? 0.65 : 0.5);
      draft.because(
          scene.oom_line(),
          fmt::format("this process has {}, PyTorch reserved {}: {} are of libraries and the context, of which a "
                      "context takes about half a GiB",
                      show(terms.own_process), show(terms.reserved), show(terms.context)));
    }
  }
  if (scene.has_run() && scene.run_failed_for_memory()) {
    for (const model::DeviceResult& device : scene.run()->devices) {
      if (device.index != scene.run()->peak_device || share(device.libraries, device.total) < 0.12) continue;
      draft.weigh(0.6).because(
          fmt::format("the run: libraries hold {} of {}", show(device.libraries), show(device.total)));
    }
  }
  if (draft.is_empty()) return;
  if (!is_distributed(scene)) {
    draft.fix(
        {"See what else in this process uses the card: another framework, a decoder of pictures or video, a renderer",
         "nvidia-smi  # before and after each import and first call", std::nullopt, "none", Applicability::kFillIn});
    draft.fix({"Load kernels only when they are first used", "export CUDA_MODULE_LOADING=LAZY", std::nullopt, "little",
               Applicability::kAsIs});
    return;
  }
  draft.fix({"Fewer or smaller NCCL buffers", "export NCCL_BUFFSIZE=2097152 NCCL_MAX_NCHANNELS=4", std::nullopt,
             "slower collectives", Applicability::kMayBeWrong});
  draft.fix({"Leave room outside PyTorch's pool", "torch.cuda.set_per_process_memory_fraction(0.85)", std::nullopt,
             "none", Applicability::kMayBeWrong});
  draft.fix({"Fewer process groups; another framework in the same process counts here too",
             "torch.distributed.new_group only where needed", std::nullopt, "none", Applicability::kFillIn});
}

}  // namespace

const Cause kLibraryBuffers{
    "VF602",
    "library_buffers",
    "Libraries beside PyTorch hold much of the card",
    "this process's memory is far above what PyTorch reserved; NCCL's own text",
    "NCCL communicators, cuBLAS workspaces, TensorRT engines, another framework in the same process: their memory is "
    "not in "
    "PyTorch's statistics, and empty_cache cannot give it back.",
    "Smaller NCCL buffers, fewer communicators, room left outside the pool, separate processes.",
    find_library_buffers};

}  // namespace vramfit::doctor
