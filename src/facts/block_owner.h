#ifndef VRAMFIT_FACTS_BLOCK_OWNER_H
#define VRAMFIT_FACTS_BLOCK_OWNER_H

#include "liveness/owners.h"
#include "model/allocation_stream.h"

namespace vramfit::facts {

// What a plan takes a block for.
model::BlockOwner block_owner(const liveness::Block& block);

}  // namespace vramfit::facts

#endif
