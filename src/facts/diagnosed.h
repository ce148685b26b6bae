// Reads the notes of python/vramfit/diagnose (docs/notes.md) into the evidence, and gives the other numbers of a
// recording their names.
#ifndef VRAMFIT_FACTS_DIAGNOSED_H
#define VRAMFIT_FACTS_DIAGNOSED_H

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "liveness/lifetimes.h"
#include "model/runtime_evidence.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::facts {

// Everything that the notes say, with the script's lines of the blocks they name. `growth` gets its holders here.
void apply_runtime_notes(std::span<const model::Recording> recordings, std::span<const liveness::CardHistory> histories,
                         model::RuntimeEvidence& evidence);

}  // namespace vramfit::facts

#endif
