// What a sentence says that a reader knows: one of a program's own, or one in which somebody tells what happened.
#ifndef VRAMFIT_MODEL_SENTENCE_KIND_H
#define VRAMFIT_MODEL_SENTENCE_KIND_H

#include <cstdint>
#include <string_view>

namespace vramfit::model {

enum class SentenceKind : std::uint8_t {
  // Sentences of programs and libraries, known by their words: ingest/text/settings.cc.
  kAsynchronousReport,
  kCacheFlushes,
  kExpandableUnsupported,
  kAllocatorAssert,
  kAllocatorOption,
  kCopiedToHost,
  kManyWorkers,
  kGradientCheckpointingOn,
  kCheckpointWithoutGradient,
  kGraphFreed,
  kOpenFiles,
  kLockedMemory,
  kPadding,
  kNoFlashAttention,
  kKernelDied,
  kKernelRestarted,
  kLargeAlloc,
  kGttLimit,
  kDeepspeedOffload,
  kSegmentationFault,
  kBatchSizeSearch,
  kBatchSkipped,
  kTacticSkipped,
  kTriedOtherwise,
  kDriverVram,
  kComfyui,
  kLoadingShards,
  kLongSequence,
  kLargeModel,
  kPartlyOffloaded,
  kOffloaded,
  kUnusedParameters,
  kMallocAsync,
  kVgpuLimit,
  kKilledByLauncher,
  kEndedForOtherReason,  // what ended it has a reason of its own: a probe that failed, a worker that could not start
  kServerCommand,
  kSharedGpuMemory,
  kPinnedMemory,
  // Sentences about code beside the text.
  kKeepsGraph,  // it keeps losses with their graphs

  // Somebody tells of a failure (ingest/text/told_cause.cc and told_signs.cc). All that follow are such.
  kToldKilled,         // something was killed, and nobody did it: "it just says killed"
  kToldNoProcess,      // memory of a card is held, and no process is seen that holds it
  kToldFirstMore,      // the first card holds more than the others
  kToldFailsAgain,     // after an out-of-memory error what comes next fails too
  kToldContext,        // a context is too long for the memory there is
  kToldLoadOoms,       // memory runs out where a checkpoint is loaded
  kToldSmallCard,      // the card has 4 GB or less
  kToldSmallBatch,     // it fails with a batch of one or two as well
  kToldVae,            // it fails where a picture, a film or a sound is decoded from its latents
  kToldShmLeft,        // something of an earlier run lies in /dev/shm
  kToldOwnMany,        // several processes of the job are on one card: "13 workers, all on gpu 0"
  kToldOthers,         // another one's process, or one that was left over, holds the card
  kToldMeansCard,      // the job is meant for a card that is not the first: ".cuda(1)"
  kToldPinCured,       // it works without pinned memory
  kToldLoadFails,      // it fails once a checkpoint was loaded
  kToldFreshWorks,     // it does not without a checkpoint
  kToldEvalFails,      // it fails in an evaluation
  kToldTrainWorks,     // training passes
  kToldEvalGathers,    // results of an evaluation are kept
  kToldLongInput,      // inputs that are longer than the rest
  kToldOnlyLongInput,  // it fails with these alone
  kToldNoGrad,         // no_grad was missing, or cured it
  kToldGraph,          // losses are kept, and their graphs with them
  kToldSharedGpu,      // Windows lends the card host memory, which is slow
  kToldRestartCures,   // only a new process has room again
  kToldDelCures,       // deleting something gives memory back
  kToldLogits,         // logits over the whole vocabulary
  kToldServerShare,    // a server's share of the card was tuned
  kToldAllocator,      // a setting of PyTorch's allocator is what fails
  kToldMemoryCured,    // what made it go is named after some memory: "fixed with --shm-size=8g"

  // What cures the cause of this label made it go. All that follow are such.
  kToldCauseAttentionQuadratic,
  kToldCauseCapacityExceeded,
  kToldCauseCheckpointKeptOnGpu,
  kToldCauseCudnnWorkspace,
  kToldCauseDataDependentBlowup,
  kToldCauseFragmentation,
  kToldCauseGraphRetained,
  kToldCauseHostRamOom,
  kToldCauseLeakGrowth,
  kToldCauseLogitsVocabBlowup,
  kToldCauseNoGradMissing,
  kToldCauseOptimizerStateFirstStep,
  kToldCauseOtherProcess,
  kToldCausePlacementNoHeadroom,
  kToldCausePoolGrowthPolicy,
  kToldCausePredsAccumulatedOnGpu,
  kToldCauseServingOvercommit,
  kToldCauseShmExhausted,
  kToldCauseVariableLengthSpike,
  kToldCauseWindowsSharedMemory,
};

// Whether somebody tells it, who may be wrong; programs know.
constexpr bool is_told(SentenceKind kind) { return kind >= SentenceKind::kToldKilled; }

// The label of the cause that it names; empty where it names none.
std::string_view cause_named_by(SentenceKind kind);

}  // namespace vramfit::model

#endif
