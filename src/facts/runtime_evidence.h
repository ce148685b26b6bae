// Puts together what only a run shows (model/runtime_evidence.h) from its recordings and notes.
#ifndef VRAMFIT_FACTS_RUNTIME_EVIDENCE_H
#define VRAMFIT_FACTS_RUNTIME_EVIDENCE_H

#include <functional>

#include "facts/run_facts.h"
#include "model/runtime_evidence.h"

namespace vramfit::facts {

// `moment`: the event of a card that the result explains (its peak, or the error that ended the job).
using MomentOf = std::function<liveness::EventIndex(const liveness::CardHistory&)>;

// Without the hooks' notes (RunRequest::diagnose) only contexts and the moment of an out-of-memory error.
model::RuntimeEvidence gather_runtime_evidence(const RunFacts& facts, const MomentOf& moment);

}  // namespace vramfit::facts

#endif
