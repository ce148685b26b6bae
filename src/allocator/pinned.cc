#include "allocator/pinned.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace vramfit::allocator {

PinnedBlockId PinnedSimulator::malloc(std::uint64_t bytes) {
  const std::uint64_t size = std::bit_ceil(std::max<std::uint64_t>(bytes, 1));
  std::vector<PinnedBlockId>& free = free_[static_cast<std::size_t>(std::countr_zero(size))];
  PinnedBlockId id = 0;
  const auto amount = static_cast<std::int64_t>(size);
  if (!free.empty()) {
    id = free.back();
    free.pop_back();
  } else {
    if (spare_.empty()) {
      id = static_cast<PinnedBlockId>(blocks_.size());
      blocks_.emplace_back();
    } else {
      id = spare_.back();
      spare_.pop_back();
    }
    blocks_[id] = {.size = size, .is_live = true, .is_waiting = false};
    ++statistics_.host_allocations;
    increase(statistics_.allocations, 1);
    increase(statistics_.allocated_bytes, amount);
  }
  increase(statistics_.active_requests, 1);
  increase(statistics_.active_bytes, amount);
  return id;
}

void PinnedSimulator::put_free(PinnedBlockId id) {
  free_[static_cast<std::size_t>(std::countr_zero(blocks_[id].size))].push_back(id);
}

void PinnedSimulator::free(PinnedBlockId id, bool waits) {
  blocks_[id].is_waiting = waits;
  if (!waits) put_free(id);
}

void PinnedSimulator::complete(PinnedBlockId id) {
  if (!std::exchange(blocks_[id].is_waiting, false)) return;
  decrease(statistics_.active_requests, 1);
  decrease(statistics_.active_bytes, static_cast<std::int64_t>(blocks_[id].size));
  put_free(id);
}

// All events are waited for first.
void PinnedSimulator::empty_cache() {
  for (PinnedBlockId id = 0; id < blocks_.size(); ++id) complete(id);
  for (std::vector<PinnedBlockId>& free : free_) {
    for (const PinnedBlockId id : free) {
      Block& block = blocks_[id];
      ++statistics_.host_frees;
      decrease(statistics_.allocations, 1);
      decrease(statistics_.allocated_bytes, static_cast<std::int64_t>(block.size));
      block.is_live = false;
      spare_.push_back(id);
    }
    free.clear();
  }
}

}  // namespace vramfit::allocator
