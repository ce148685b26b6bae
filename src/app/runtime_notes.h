// Reads the notes of python/vramfit/diagnose (docs/notes.md) into the evidence, and gives the other numbers of a
// recording their names.
#ifndef VRAMFIT_APP_RUNTIME_NOTES_H
#define VRAMFIT_APP_RUNTIME_NOTES_H

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "liveness/lifetimes.h"
#include "model/recording.h"
#include "model/runtime_evidence.h"

namespace vramfit::app {

// What one process's notes say about it.
struct ProcessFacts {
  std::string role = "main";  // main, rank, worker, child
  int rank = 0, world_size = 1, local_rank = -1;
  std::vector<std::pair<std::uint32_t, std::string>> threads;  // their id and role
};
ProcessFacts read_process(const model::Recording& recording);

// Everything that the notes say, with the script's lines of the blocks they name. `growth` gets its holders here.
void apply_runtime_notes(std::span<const model::Recording> recordings, std::span<const liveness::CardHistory> histories,
                         model::RuntimeEvidence& evidence);

}  // namespace vramfit::app

#endif
