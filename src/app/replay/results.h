// What the simulated allocator found, in the words of the result: sizes, the script's lines, the snapshot's entries.
#ifndef VRAMFIT_APP_REPLAY_RESULTS_H
#define VRAMFIT_APP_REPLAY_RESULTS_H

#include <cstdint>
#include <optional>

#include "allocator/replay.h"
#include "model/replay_result.h"
#include "model/snapshot.h"

namespace vramfit::app {

model::ReplayProof to_model(const allocator::Proof& from);

// `needs`: the least capacity at which these settings don't run out; nothing: not looked for.
model::ReplayTrial to_model(const model::Snapshot& snapshot, int device, const allocator::Settings& settings,
                            const allocator::ReplayRun& run, std::optional<std::uint64_t> needs);

// The worst moment of a replay: its holes, and whose blocks pin them.
model::Fragmentation to_model(const model::Snapshot& snapshot, const allocator::ReplayProgram& program,
                              const allocator::ReplayRun& run, const allocator::Settings& settings);

}  // namespace vramfit::app

#endif
