// What PyTorch's allocator was asked for in one run, block by block, with what decides what becomes of it under a plan.
#ifndef VRAMFIT_MODEL_ALLOCATION_STREAM_H
#define VRAMFIT_MODEL_ALLOCATION_STREAM_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

// What a block holds: a field of Holdings each, but for what is gathered.
enum class BlockOwner : std::uint8_t {
  kWeights,
  kBuffers,
  kGradients,
  kOptimizer,
  kInputs,
  kActivations,
  kWorkspaces,
  kTemporaries
};
inline constexpr std::size_t kBlockOwnerCount = 8;

// The place of an event in the card's stream; every block is born and dies at events of its own.
using StreamTime = std::uint32_t;
inline constexpr StreamTime kStreamEnd = std::numeric_limits<StreamTime>::max();

struct StreamBlock {
  StreamTime born = 0, died = kStreamEnd;
  std::int32_t module = -1;  // the innermost one that it was allocated in: an index into AllocationStream::modules
  std::int64_t bytes = 0;
  std::uint8_t phase = 0, stage = 0;  // enum vf_phase, vf_stage
  BlockOwner owner = BlockOwner::kTemporaries;
  bool product = false;  // of matrices, or a convolution's result
  bool operator==(const StreamBlock&) const = default;
};

struct StreamModule {
  std::string name;          // as in named_modules() of the root module
  std::int32_t parent = -1;  // before it
  base::Bytes output;        // of one forward; of one call, where blocks_of_call is known
  // So many it makes in one call, of several in a pass; 0: it is called once, or nobody knows.
  std::size_t blocks_of_call = 0;
  bool operator==(const StreamModule&) const = default;
};

// One forward and backward of training.
struct StreamPass {
  StreamTime begin = 0;  // its first event
  StreamTime turn = 0;   // the first event of backward
  StreamTime end = 0;    // one past the last of backward
  bool operator==(const StreamPass&) const = default;
};

struct AllocationStream {
  std::vector<StreamBlock> blocks;  // by birth
  std::vector<StreamModule> modules;
  std::vector<StreamPass> passes;   // in their order
  std::vector<StreamTime> emptied;  // when the script gave the cache back
  base::Bytes peak_reserved;        // as recorded
  std::string torch_version;        // "2.12.1+cu130"; may be empty
  bool operator==(const AllocationStream&) const = default;
};

}  // namespace vramfit::model

#endif
