#include "facts/block_owner.h"

#include <utility>

namespace vramfit::facts {

using liveness::Owner;
using model::BlockOwner;

BlockOwner block_owner(const liveness::Block& block) {
  switch (liveness::owner_of(block)) {
    case Owner::kWeights:
      return BlockOwner::kWeights;
    case Owner::kGradients:
      return BlockOwner::kGradients;
    case Owner::kOptimizer:
      return BlockOwner::kOptimizer;
    case Owner::kInputs:
      return BlockOwner::kInputs;
    case Owner::kActivations:
    case Owner::kCache:
      return BlockOwner::kActivations;
    case Owner::kWorkspaces:
      return BlockOwner::kWorkspaces;
    case Owner::kBuffers:
    case Owner::kAverages:
    case Owner::kMasters:
    case Owner::kQuantization:
    case Owner::kOtherModels:
    case Owner::kLoaded:
      return BlockOwner::kBuffers;
    case Owner::kTemporaries:
    case Owner::kOtherTensors:
      return BlockOwner::kTemporaries;
  }
  std::unreachable();
}

}  // namespace vramfit::facts
