#include "app/fit/kept_proofs.h"

#include <algorithm>

namespace vramfit::app {

base::Result<plan::Proof> KeptProofs::prove(const model::Plan& plan, double seconds_left) {
  for (const auto& [changes, proof] : known_) {
    if (changes == plan.changes) return proof;
  }
  ++runs_;
  auto proof = prover_->prove(plan, seconds_left);
  // What ran out of time may come to its end another time.
  if (proof && proof->outcome != plan::Outcome::kTimedOut) known_.emplace_back(plan.changes, *proof);
  return proof;
}

bool KeptProofs::knows(const model::Plan& plan) const {
  return std::ranges::any_of(known_, [&](const auto& known) { return known.first == plan.changes; });
}

void KeptProofs::overrule(const model::Plan& plan, plan::Proof proof) {
  std::erase_if(known_, [&](const auto& known) { return known.first == plan.changes; });
  known_.emplace_back(plan.changes, std::move(proof));
}

}  // namespace vramfit::app
