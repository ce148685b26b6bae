#include <fmt/format.h>

#include <algorithm>

#include "base/out_of_memory.h"
#include "doctor/causes/causes.h"
#include "doctor/remedies.h"

namespace vramfit::doctor {

namespace {

// How often the text means that memory ran out, where nothing else speaks for or against it.
double weight_of(const model::LibraryError& error) {
  const std::string code = lowered(error.code), library = lowered(error.library);
  if (library == "nccl") return 0;
  // A kernel wants more of a multiprocessor than there is, which PyTorch may call an OutOfMemoryError: VF603.
  if (library == "triton" && code != "out of memory") return 0;
  if (mentions(error.message, {"failed to allocate"}) && mentions(error.message, {"from device"})) return 0;  // VF304
  if (code.contains("alloc_failed") || code.contains("insufficient_resources")) return 0.86;
  if (mentions(error.message, {"nvml_success == r"}) || (library == "nvml" && mentions(error.message, {"assert"}))) {
    return 0.84;
  }
  if (library == "cublas" && code.contains("not_initialized")) return mentions(error.call, {"create"}) ? 0.8 : 0.68;
  if (library == "cudnn" && code.contains("not_initialized")) return 0.68;
  if (mentions(error.message, {"unable to find a valid cudnn", "unable to find an engine", "get was unable to find"})) {
    return 0.7;
  }
  if (code.contains("internal_error") && (library == "cudnn" || library == "cusolver")) return 0.55;
  if (code.contains("not_supported") && library == "cudnn") return 0.42;
  if (library == "cublas" && (code.contains("internal_error") || code.contains("execution_failed"))) return 0.3;
  // The driver's plain word for a card that is full masks nothing.
  if (mentions(error.message, {"cumemalloc", "cumemcreate"})) return 0.35;
  return base::says_out_of_memory(error.message) || base::says_out_of_memory(error.code) ? 0.6 : 0;
}

// The card was seen full, or seen with plenty of room: by an OOM message or by nvidia-smi, or who wrote this says that
// memory is not the matter. 0: not seen.
int fullness(const Scene& scene) {
  if (scene.terms.free && scene.terms.total) return share(scene.terms.free, scene.terms.total) < 0.06 ? 1 : -1;
  for (const model::GpuStatus& status : scene.texts.gpu_status) {
    for (const model::GpuCard& card : status.cards) {
      if (!card.used || !card.total) continue;
      if (share(card.used, card.total) > 0.93) return 1;
    }
    if (!status.cards.empty() && std::all_of(status.cards.begin(), status.cards.end(), [](const model::GpuCard& card) {
          return card.used && card.total && share(card.used, card.total) < 0.6;
        })) {
      return -1;
    }
  }
  for (const model::ForeignDump& dump : scene.texts.foreign) {
    if (dump.kind != model::ForeignKind::kCard || dump.sizes.size() < 2) continue;
    return share(dump.sizes.front().bytes, dump.sizes.back().bytes) < 0.06 ? 1 : -1;
  }
  const bool is_told_well = std::ranges::any_of(scene.texts.told, [](const model::ToldSentence& told) {
    return told.kind == model::ToldKind::kIsWell && told.names_memory;
  });
  return is_told_well ? -1 : 0;
}

enum class PoolOwner { kPyTorch, kXla, kTensorFlow };

// The owner of the pool that the libraries lie beside: that one is to be bounded.
PoolOwner owner_of_pool(const Scene& scene, const model::LibraryError& error) {
  std::string words = error.at.text;
  for (const model::ForeignDump& dump : scene.texts.foreign) words += " " + dump.program;
  for (const model::SourceLine& at : scene.texts.other_errors) words += " " + at.text;
  for (const StackEntry& entry : scene.stack.entries()) words += " " + entry.frame.file;
  if (scene.oom != nullptr || mentions(words, {"torch", "aten"})) return PoolOwner::kPyTorch;
  if (mentions(words, {"jaxlib", "/jax/", "external/xla", "xlaruntimeerror"})) return PoolOwner::kXla;
  return mentions(words, {"tensorflow"}) ? PoolOwner::kTensorFlow : PoolOwner::kPyTorch;
}

void offer_room_beside(PoolOwner owner, const Scene& scene, Draft& draft) {
  if (owner == PoolOwner::kPyTorch) {
    draft.fix({"Leave room outside PyTorch's pool for libraries",
               "torch.cuda.set_per_process_memory_fraction(0.9)  # or a smaller batch", std::nullopt, "none",
               Applicability::kMayBeWrong});
    draft.fix({"Make the libraries' handles early, while there is room",
               "torch.ones(8, 8, device=\"cuda\") @ torch.ones(8, 8, device=\"cuda\")", std::nullopt, "none",
               Applicability::kAsIs});
    return offer_smaller_batch(scene, draft);
  }
  if (owner == PoolOwner::kXla) {
    draft.fix({"Leave room outside XLA's pool for libraries: it takes three quarters of the card at its start",
               "export XLA_PYTHON_CLIENT_MEM_FRACTION=.60  # or XLA_PYTHON_CLIENT_PREALLOCATE=false", std::nullopt,
               "none", Applicability::kMayBeWrong});
  } else {
    draft.fix({"Let TensorFlow's pool grow instead of taking the whole card at its start",
               "export TF_FORCE_GPU_ALLOW_GROWTH=true", std::nullopt, "none", Applicability::kMayBeWrong});
  }
  draft.fix({"See whether another process holds the card: a second notebook takes its share at its start too",
             "nvidia-smi --query-compute-apps=pid,used_memory,name --format=csv", std::nullopt, "none",
             Applicability::kAsIs});
}

// An index that is wrong on the CPU is read out of bounds on the card, and what comes next fails there.
bool names_wrong_index(const Scene& scene) {
  return std::ranges::any_of(scene.texts.other_errors, [](const model::SourceLine& at) {
    return mentions(at.text, {"index out of range", "out of bounds"});
  });
}

void find_masked_oom(const Scene& scene, Draft& draft) {
  if (scene.kernel_failed() && !scene.has_failure()) return;
  const model::LibraryError* strongest = nullptr;
  for (const model::LibraryError& error : scene.texts.library_errors) {
    if (strongest == nullptr || weight_of(error) > weight_of(*strongest)) strongest = &error;
  }
  if (strongest == nullptr || weight_of(*strongest) == 0) return;
  draft.weigh(weight_of(*strongest));
  if (scene.kernel_failed()) draft.adjust(-0.65);
  if (names_wrong_index(scene)) draft.bound(0.2);
  const int full = fullness(scene);
  if (full > 0) draft.adjust(0.15);
  if (full < 0) draft.adjust(-0.35);
  // PyTorch's own message beside it says more.
  if (scene.oom_has_numbers && full <= 0) draft.adjust(-0.3);
  if (draft.is_empty()) return;
  draft.because(strongest->at,
                fmt::format("{}{} says so when it cannot get memory for its handle or workspace", strongest->library,
                            strongest->code.empty() ? "" : " (" + strongest->code + ")"));
  const PoolOwner owner = owner_of_pool(scene, *strongest);
  if (full > 0) draft.because("the card was full at the time");
  if (full == 0)
    draft.confirm(owner == PoolOwner::kPyTorch
                      ? "nvidia-smi at the failure, or torch.cuda.mem_get_info() just before: is the card full?"
                      : "nvidia-smi at the failure: is the card full?");
  if (owner == PoolOwner::kPyTorch)
    draft.confirm(
        "CUDA_LAUNCH_BLOCKING=1: a kernel that read out of bounds makes later calls fail with such texts too");
  offer_room_beside(owner, scene, draft);
}

}  // namespace

const Cause kMaskedOom{
    "VF601",
    "masked_oom",
    "A library's error text hides that the card was full",
    "cuBLAS, cuDNN, cuSOLVER or NVML failing to allocate or to initialise, with the card full",
    "Libraries allocate beside PyTorch's pool. When nothing is left, cuBLAS says NOT_INITIALIZED or ALLOC_FAILED, "
    "cuDNN "
    "INTERNAL_ERROR or finds no algorithm, and PyTorch's own message may be replaced by an NVML assertion.",
    "The same as for a full card; leave the libraries some room.",
    find_masked_oom};

}  // namespace vramfit::doctor
