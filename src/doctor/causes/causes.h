// All causes, one file each beside this one.
#ifndef VRAMFIT_DOCTOR_CAUSES_CAUSES_H
#define VRAMFIT_DOCTOR_CAUSES_CAUSES_H

#include "doctor/cause.h"

namespace vramfit::doctor {

extern const Cause kUnknown;
// Size.
extern const Cause kCapacityExceeded, kPlacementNoHeadroom, kServingOvercommit, kEvalStageBlowup, kDataDependentBlowup,
    kVariableLengthSpike, kAttentionQuadratic, kLogitsVocabBlowup, kSingleHugeAllocation, kSizeComputationBug,
    kOptimizerStateFirstStep, kCheckpointKeptOnGpu, kCudnnWorkspace, kGpuAugmentation, kNeedlessCopies;
// Lifetime.
extern const Cause kLeakGrowth, kRefsKeptAcrossSteps, kGraphRetained, kNoGradMissing, kPredsAccumulatedOnGpu,
    kEmaOrCopy, kExceptionHoldsTensors;
// Fragmentation and settings.
extern const Cause kFragmentation, kFractionLimit, kAllocatorConfigBug, kPoolGrowthPolicy, kPrivatePoolCache;
// Other users of the card.
extern const Cause kOtherProcess, kWrongDevice, kExtraContexts, kLoaderOnGpu;
// The host.
extern const Cause kHostRamOom, kShmExhausted, kPinnedHostLimit;
// Libraries.
extern const Cause kMaskedOom, kLibraryBuffers, kTritonSharedMemory;
// The platform.
extern const Cause kWindowsSharedMemory, kFreeButFailed, kMigOrPartition, kDriverOverhead;

}  // namespace vramfit::doctor

#endif
