// PyTorch's caching allocator of pinned host memory (at::CachingHostAllocator): blocks of powers of two that are
// neither split nor merged, reused at exactly their size, and never given back before the cache is emptied.
#ifndef VRAMFIT_ALLOCATOR_PINNED_H
#define VRAMFIT_ALLOCATOR_PINNED_H

#include <array>
#include <cstdint>
#include <vector>

#include "allocator/statistics.h"

namespace vramfit::allocator {

using PinnedBlockId = std::uint32_t;

// torch.cuda.host_memory_stats(), 2.9. What is active falls only when a free had to wait for events: so PyTorch counts
// (ran: 2.12), and so it is here.
struct PinnedStatistics {
  Stat allocations;                   // blocks there
  Stat allocated_bytes;               // of blocks there
  Stat active_requests;               // blocks handed out
  Stat active_bytes;                  // of blocks handed out
  std::int64_t host_allocations = 0;  // num_host_alloc
  std::int64_t host_frees = 0;        // num_host_free
};

class PinnedSimulator {
 public:
  PinnedBlockId malloc(std::uint64_t bytes);
  // `waits`: streams still read from it; it can be had again after complete().
  void free(PinnedBlockId block, bool waits = false);
  void complete(PinnedBlockId block);
  void empty_cache();

  std::uint64_t size_of(PinnedBlockId block) const { return blocks_[block].size; }
  const PinnedStatistics& statistics() const { return statistics_; }

 private:
  struct Block {
    std::uint64_t size = 0;
    bool is_live = false;  // there at all
    bool is_waiting = false;
  };
  void put_free(PinnedBlockId block);

  std::vector<Block> blocks_;
  std::vector<PinnedBlockId> spare_;
  std::array<std::vector<PinnedBlockId>, 64> free_;  // by power of two; the one freed last is had first
  PinnedStatistics statistics_;
};

}  // namespace vramfit::allocator

#endif
