// The recordings that a run's facts were made of: for this room, and for tests.
#ifndef VRAMFIT_FACTS_RECORDINGS_H
#define VRAMFIT_FACTS_RECORDINGS_H

#include <cstdint>
#include <vector>

#include "facts/run_facts.h"
#include "model/recording.h"

namespace vramfit::facts {

inline constexpr std::uint8_t kHostDevice = 255;  // vf_record::device of what belongs to no card, as a step

const std::vector<model::Recording>& recordings_of(const RunFacts& facts);

RunFactsPtr gather(std::vector<model::Recording> recordings, const vf_ledger* ledger = nullptr);

}  // namespace vramfit::facts

#endif
