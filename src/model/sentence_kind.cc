#include "model/sentence_kind.h"

namespace vramfit::model {

std::string_view cause_named_by(SentenceKind kind) {
  switch (kind) {
    case SentenceKind::kToldCauseAttentionQuadratic:
      return "attention_quadratic";
    case SentenceKind::kToldCauseCapacityExceeded:
      return "capacity_exceeded";
    case SentenceKind::kToldCauseCheckpointKeptOnGpu:
      return "checkpoint_kept_on_gpu";
    case SentenceKind::kToldCauseCudnnWorkspace:
      return "cudnn_workspace";
    case SentenceKind::kToldCauseDataDependentBlowup:
      return "data_dependent_blowup";
    case SentenceKind::kToldCauseFragmentation:
      return "fragmentation";
    case SentenceKind::kToldCauseGraphRetained:
      return "graph_retained";
    case SentenceKind::kToldCauseHostRamOom:
      return "host_ram_oom";
    case SentenceKind::kToldCauseLeakGrowth:
      return "leak_growth";
    case SentenceKind::kToldCauseLogitsVocabBlowup:
      return "logits_vocab_blowup";
    case SentenceKind::kToldCauseNoGradMissing:
      return "no_grad_missing";
    case SentenceKind::kToldCauseOptimizerStateFirstStep:
      return "optimizer_state_first_step";
    case SentenceKind::kToldCauseOtherProcess:
      return "other_process";
    case SentenceKind::kToldCausePlacementNoHeadroom:
      return "placement_no_headroom";
    case SentenceKind::kToldCausePoolGrowthPolicy:
      return "pool_growth_policy";
    case SentenceKind::kToldCausePredsAccumulatedOnGpu:
      return "preds_accumulated_on_gpu";
    case SentenceKind::kToldCauseServingOvercommit:
      return "serving_overcommit";
    case SentenceKind::kToldCauseShmExhausted:
      return "shm_exhausted";
    case SentenceKind::kToldCauseVariableLengthSpike:
      return "variable_length_spike";
    case SentenceKind::kToldCauseWindowsSharedMemory:
      return "windows_shared_memory";
    default:
      return {};
  }
}

}  // namespace vramfit::model
