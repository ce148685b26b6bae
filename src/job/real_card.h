// What a run on a machine's own cards says of them.
#ifndef VRAMFIT_JOB_REAL_CARD_H
#define VRAMFIT_JOB_REAL_CARD_H

#include <string>

#include "facts/card_facts.h"
#include "model/run_result.h"

namespace vramfit::job {

// `facts`: of a card that no ledger accounts for.
model::DeviceResult describe_real_card(const facts::CardFacts& facts);

// How much of it was measured, and how: a sentence. Empty: the card told nothing.
std::string describe_measuring(const facts::CardFacts& facts);

// Processes that have different cards under one number, as where each has its own CUDA_VISIBLE_DEVICES. Empty: none.
std::string describe_mixture(const facts::CardFacts& facts);

}  // namespace vramfit::job

#endif
