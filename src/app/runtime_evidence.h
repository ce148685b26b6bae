// Puts together what only a run shows (model/runtime_evidence.h) from its recordings and notes.
#ifndef VRAMFIT_APP_RUNTIME_EVIDENCE_H
#define VRAMFIT_APP_RUNTIME_EVIDENCE_H

#include <functional>
#include <span>

#include "liveness/lifetimes.h"
#include "model/recording.h"
#include "model/runtime_evidence.h"

namespace vramfit::app {

// `moment`: the event of a card that the result explains (its peak, or the error that ended the job).
using MomentOf = std::function<liveness::EventIndex(const liveness::CardHistory&)>;

// Without the hooks' notes (RunRequest::diagnose) only contexts and the moment of an out-of-memory error.
model::RuntimeEvidence gather_runtime_evidence(std::span<const model::Recording> recordings,
                                               std::span<const liveness::CardHistory> histories,
                                               const MomentOf& moment);

}  // namespace vramfit::app

#endif
