// Puts together what only a run shows (model/runtime_evidence.h) from its recordings and notes.
#ifndef VRAMFIT_FACTS_RUNTIME_EVIDENCE_H
#define VRAMFIT_FACTS_RUNTIME_EVIDENCE_H

#include <functional>

#include "facts/run_facts.h"
#include "model/runtime_evidence.h"

namespace vramfit::facts {

// `choose` gives the event of a card that the result explains (its peak, or the error that ended the job).
using ChooseEvent = std::function<liveness::EventIndex(const liveness::CardHistory&)>;

// Without the hooks' notes (RunRequest::diagnose) only contexts and the state at an out-of-memory error are known.
model::RuntimeEvidence gather_runtime_evidence(const RunFacts& facts, const ChooseEvent& choose);

}  // namespace vramfit::facts

#endif
