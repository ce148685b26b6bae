// Puts together what only a run shows (model/runtime_evidence.h) from its recordings and notes.
#ifndef VRAMFIT_FACTS_RUNTIME_EVIDENCE_H
#define VRAMFIT_FACTS_RUNTIME_EVIDENCE_H

#include <span>

#include "facts/processes.h"
#include "liveness/lifetimes.h"
#include "model/runtime_evidence.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::facts {

// `processes`: of the recordings, in their order. Without the hooks' notes (RunRequest::diagnose) only contexts, growth
// and the state at an out-of-memory error are known. `logits` stay empty: they are of one moment (explanation.h).
model::RuntimeEvidence read_evidence(std::span<const model::Recording> recordings, std::span<const Process> processes,
                                     std::span<const liveness::CardHistory> histories);

}  // namespace vramfit::facts

#endif
