#include <array>

#include "doctor/causes/causes.h"

namespace vramfit::doctor {

namespace {

constexpr std::array kAll = {&kUnknown,
                             &kCapacityExceeded,
                             &kPlacementNoHeadroom,
                             &kServingOvercommit,
                             &kEvalStageBlowup,
                             &kDataDependentBlowup,
                             &kVariableLengthSpike,
                             &kAttentionQuadratic,
                             &kLogitsVocabBlowup,
                             &kSingleHugeAllocation,
                             &kSizeComputationBug,
                             &kOptimizerStateFirstStep,
                             &kCheckpointKeptOnGpu,
                             &kCudnnWorkspace,
                             &kGpuAugmentation,
                             &kNeedlessCopies,
                             &kLeakGrowth,
                             &kRefsKeptAcrossSteps,
                             &kGraphRetained,
                             &kNoGradMissing,
                             &kPredsAccumulatedOnGpu,
                             &kEmaOrCopy,
                             &kExceptionHoldsTensors,
                             &kFragmentation,
                             &kFractionLimit,
                             &kAllocatorConfigBug,
                             &kPoolGrowthPolicy,
                             &kPrivatePoolCache,
                             &kOtherProcess,
                             &kWrongDevice,
                             &kExtraContexts,
                             &kLoaderOnGpu,
                             &kHostRamOom,
                             &kShmExhausted,
                             &kPinnedHostLimit,
                             &kMaskedOom,
                             &kLibraryBuffers,
                             &kTritonSharedMemory,
                             &kWindowsSharedMemory,
                             &kFreeButFailed,
                             &kMigOrPartition,
                             &kDriverOverhead};

}  // namespace

std::span<const Cause* const> all_causes() { return kAll; }

const Cause* find_cause(std::string_view name) {
  const std::string low = lowered(name);
  for (const Cause* cause : kAll) {
    if (low == lowered(cause->code) || low == cause->label) return cause;
  }
  return nullptr;
}

model::CausePage page_of(const Cause& cause) {
  return {std::string(cause.code),    std::string(cause.label), std::string(cause.title),
          std::string(cause.decides), std::string(cause.what),  std::string(cause.cure)};
}

}  // namespace vramfit::doctor
