// Who holds the card's memory at one moment: rows whose bytes sum up to the card's level there.
//
//   device |  occupied | context | libraries |            reserved by PyTorch             | unexplained
//                                            | allocated: one row an owner | cached | fragmented
//
// cached: segments without any living block, which PyTorch gives back before it dies of OOM. fragmented: free space in
// segments that something lives in, which it can't give back.
#ifndef VRAMFIT_LIVENESS_OWNERS_H
#define VRAMFIT_LIVENESS_OWNERS_H

#include <vramfit/numbers.h>

#include <span>
#include <string_view>
#include <vector>

#include "liveness/lifetimes.h"
#include "model/allocation_stream.h"
#include "model/run_result.h"

namespace vramfit::liveness {

struct OwnerOptions {
  std::size_t module_rows = 12;  // activations are summed up the module tree until they fit this many rows
  Bytes occupied;                // --occupied
  bool rest_is_others = false;   // all that processes of the job hold is known: what is left is occupied by others
  // The moment of what is outside of PyTorch's memory, where it is another: kernels that are loaded right after the
  // fullest moment of tensors belong to the same peak of the card.
  EventIndex outside = kNever;
};

std::vector<model::OwnerRow> find_owners(const CardHistory& history, EventIndex at,
                                         std::span<const model::Recording> recordings, const OwnerOptions& options);

// The script's own lines that allocated what lives at that moment, largest first, at most `limit`.
std::vector<model::LineRow> find_lines(const CardHistory& history, EventIndex at,
                                       std::span<const model::Recording> recordings, std::size_t limit);

enum class Owner {
  kWeights,
  kGradients,
  kOptimizer,
  kInputs,
  kActivations,
  kWorkspaces,
  kBuffers,
  kAverages,
  kMasters,
  kQuantization,
  kCache,
  kOtherModels,
  kTemporaries,
  kLoaded,
  kOtherTensors
};

// The owner that its tag says, or else the stage in which it was allocated.
Owner owner_of(const Block& block);

// What is said of an owner. owners.cc has a row for each; all else is asked of these.
struct OwnerTraits {
  Owner owner;
  vf_owner tag;                  // VF_OWNER_UNKNOWN: of blocks without one
  std::string_view name;         // what the result calls it
  model::BlockOwner in_plan;     // what a plan takes its blocks for
  bool is_model_state = false;   // of a model or its training, from one step to the next: nothing that a batch brings
  bool is_named_by_tag = false;  // its rows are named after the text of the tag: the model, the holder of a cache
};
const OwnerTraits& traits_of(Owner owner);

// "weights", "gradients", ... : what the result calls the owner of a block.
std::string_view owner_name(const Block& block);
model::BlockOwner block_owner(const Block& block);
bool is_model_state(const Block& block);

}  // namespace vramfit::liveness

#endif
