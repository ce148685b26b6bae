// Getting segments from the driver and giving them back.
#include <algorithm>

#include "allocator/pools.h"
#include "allocator/simulator.h"

namespace vramfit::allocator {
namespace {}  // namespace

// What malloc does when no free block fits. After the last release the free lists are not searched again: a block whose
// events have just passed is missed (pytorch issue 189504), and so it is here.
BlockId Simulator::malloc_slow(Request& request) {
  request.segment = segment_bytes_for(request.size, settings_);
  if (rules_.has_oom_rejection && settings_.throw_on_oom && is_over_limit(request.segment)) {
    ++statistics_.oom_rejections;
    last_oom_ = describe_oom(request);
    last_oom_->is_rejection = true;
    return kNoBlock;
  }
  if (is_collecting()) collect_garbage();
  const bool may_release =
      captures_.empty() ||
      (rules_.pool_in_use_may_release &&
       std::none_of(captures_.begin(), captures_.end(), [](const Capture& one) { return one.stream.has_value(); }));
  const bool found = allocate_segment(request, false) || use_last_resort_pool(request) ||
                     (release_oversize(request) && allocate_segment(request, false)) ||
                     (may_release && release_cached({}) && allocate_segment(request, true));
  if (found) return request.block;
  report_oom(request);
  return kNoBlock;
}

OutOfMemory Simulator::describe_oom(const Request& request) const {
  OutOfMemory oom;
  oom.tried_bytes = request.segment;
  oom.device_total = device_.total_bytes();
  oom.device_free = device_.free_bytes();
  oom.limit = limit_;
  oom.allocated = static_cast<std::uint64_t>(statistics_.current(StatKind::kAllocatedBytes));
  oom.reserved = static_cast<std::uint64_t>(statistics_.current(StatKind::kReservedBytes));
  for (const PrivatePool& pool : private_pools_) {
    if (pool.is_erased) continue;
    for (const std::uint32_t half : {pool.small, pool.large}) {
      for (const std::uint32_t list : pools_[half].lists) {
        const FreeList& free = lists_[list]->free;
        for (auto at = free.first(); !at.is_end(); at = free.next(at)) oom.free_in_private_pools += free.at(at).size;
      }
    }
  }
  return oom;
}

void Simulator::report_oom(const Request& request) {
  last_oom_ = describe_oom(request);
  trace(TraceAction::kOom, last_oom_->device_free, request.size, request.stream, pools_[request.pool], 0);
  ++statistics_.ooms;
}

bool Simulator::allocate_segment(Request& request, bool is_retry) {
  if (is_retry) ++statistics_.retries;
  if (is_over_limit(request.segment)) return false;
  const std::uint32_t owner = pools_[request.pool].owner;
  if (request.is_expandable) {
    request.block = allocate_expandable(request);
    if (request.block == kNoBlock) return false;
    if (owner != kNone) ++private_pools_[owner].device_allocations;
    return true;
  }
  const auto address = device_.allocate(request.segment);
  if (!address) return false;
  if (owner != kNone) ++private_pools_[owner].device_allocations;
  total_reserved_ += request.segment;
  request.block = new_block(request.list, *address, request.segment);
  const PoolKind kind = pools_[request.pool].kind;
  statistics_.increase(StatKind::kSegment, kind, 1);
  statistics_.increase(StatKind::kReservedBytes, kind, counted(request.segment));
  if (request.segment >= settings_.max_split_bytes) increase(statistics_.oversize_segments, 1);
  ++statistics_.device_allocations;
  trace(TraceAction::kSegmentAlloc, *address, request.segment, request.stream, pools_[request.pool], 0);
  return true;
}

// try_mempool_fallback: the free blocks of pools made with use_on_oom.
bool Simulator::use_last_resort_pool(Request& request) {
  if (!rules_.has_pool_options || pools_[request.pool].owner != kNone) return false;
  for (const PrivatePool& pool : private_pools_) {
    if (pool.is_erased || !pool.is_last_resort) continue;
    Request there = request;
    there.pool = request.size <= kSmallBytes ? pool.small : pool.large;
    there.list = list_of(there.pool, request.stream);
    there.is_expandable = false;
    if (!find_free_block(there)) continue;
    request = there;
    return true;
  }
  return false;
}

// release_available_cached_blocks: one free block that is large enough, else the largest ones until together they are.
bool Simulator::release_oversize(const Request& request) {
  if (settings_.max_split_bytes == kUnlimited) return false;
  const std::uint64_t needed = std::max(request.size, settings_.max_split_bytes);
  FreeList& list = lists_[request.list]->free;
  const auto is_expandable = [&](const FreeList::Cursor& at) { return blocks_[list.at(at).block].expandable != kNone; };
  FreeList::Cursor at = list.lower_bound(needed);
  if (!at.is_end() && !(is_expandable(at) && rules_.oversize_release_skips_expandable)) {
    // PyTorch goes on and fails: an assertion for the one (pytorch issue 119452), cudaFree for the other.
    if (is_expandable(at) || blocks_[list.at(at).block].is_split()) return false;
    release_segment(list.at(at).block);
    return true;
  }
  std::uint64_t released = 0;
  at = list.previous(at);
  while (!at.is_end() && released < needed && list.at(at).size >= settings_.max_split_bytes) {
    const FreeList::Entry entry = list.at(at);
    if (blocks_[entry.block].expandable == kNone && !blocks_[entry.block].is_split()) {
      released += entry.size;
      release_segment(entry.block);
      at = list.lower_bound(entry.size, entry.order);  // whatever followed it
    }
    at = list.previous(at);
  }
  return released >= needed;
}

// release_cached_blocks: everything that is whole and free; of private pools only those that nobody uses any more.
bool Simulator::release_cached(PoolId only) {
  if (only.is_default() && captures_.empty()) {
    synchronize_events(kNone);
    release_free_blocks(kLargePool);
    release_free_blocks(kSmallPool);
  }
  for (std::uint32_t i = 0; i < private_pools_.size(); ++i) {
    PrivatePool& pool = private_pools_[i];
    if (!pool.is_freeable || pool.is_erased || (!only.is_default() && pool.id != only)) continue;
    if (!only.is_default()) synchronize_events(i);
    release_free_blocks(pool.small);
    release_free_blocks(pool.large);
    if (pool.device_allocations == 0) pool.is_erased = true;
  }
  return true;
}

void Simulator::empty_cache(PoolId pool) { release_cached(pool); }

void Simulator::release_free_blocks(std::uint32_t pool) {
  std::vector<BlockId> whole, expandable;
  for (const std::uint32_t list : pools_[pool].lists) {
    const FreeList& free = lists_[list]->free;
    for (auto at = free.first(); !at.is_end(); at = free.next(at)) {
      const BlockId id = free.at(at).block;
      if (blocks_[id].expandable != kNone) {
        expandable.push_back(id);
      } else if (!blocks_[id].is_split()) {
        whole.push_back(id);
      }
    }
  }
  for (const BlockId id : whole) release_segment(id);
  for (const BlockId id : expandable) {
    unmap_block(id);
    if (!blocks_[id].is_split()) release_expandable(id);
  }
}

void Simulator::release_segment(BlockId id) {
  const Block& block = blocks_[id];
  const Pool& pool = pool_of(block);
  ++statistics_.device_frees;
  trace(TraceAction::kSegmentFree, block.address, block.size, lists_[block.list]->stream, pool, 0);
  device_.release(block.address, block.size);
  total_reserved_ -= block.size;
  if (pool.owner != kNone) --private_pools_[pool.owner].device_allocations;
  statistics_.decrease(StatKind::kSegment, pool.kind, 1);
  statistics_.decrease(StatKind::kReservedBytes, pool.kind, counted(block.size));
  if (block.size >= settings_.max_split_bytes) decrease(statistics_.oversize_segments, 1);
  take_free(id);
  drop_block(id);
}

// garbage_collect_cached_blocks: unsplit free blocks of the default large pool that have waited as long as the average
// or longer go back, until enough has or a pass frees nothing.
void Simulator::collect_garbage() {
  const auto threshold =
      static_cast<std::uint64_t>(settings_.garbage_collection_threshold * static_cast<double>(*limit_));
  if (total_reserved_ <= threshold) return;
  const std::uint64_t target = total_reserved_ - threshold;
  const Pool& pool = pools_[kLargePool];
  // PyTorch does the same: an age is cut to 32 bits, and the sum is unsigned.
  const auto age = [&](BlockId id) {
    return static_cast<std::uint64_t>(static_cast<int>(pool.searches - blocks_[id].age_base));
  };
  const auto unsplit = [&] {
    std::vector<BlockId> found;
    for (const std::uint32_t list : pool.lists) {
      const FreeList& free = lists_[list]->free;
      for (auto at = free.first(); !at.is_end(); at = free.next(at)) {
        if (!blocks_[free.at(at).block].is_split()) found.push_back(free.at(at).block);
      }
    }
    return found;
  };
  std::vector<BlockId> candidates = unsplit();
  std::uint64_t total_age = 0;
  for (const BlockId id : candidates) total_age += age(id);
  auto count = static_cast<int>(candidates.size());
  std::uint64_t reclaimed = 0;
  bool has_freed = true;
  while (reclaimed < target && has_freed && count > 0) {
    const double oldest = static_cast<double>(total_age) / count;
    has_freed = false;
    std::erase_if(candidates, [&](BlockId id) {
      if (blocks_[id].expandable != kNone || static_cast<double>(age(id)) < oldest) return false;
      has_freed = true;
      reclaimed += blocks_[id].size;
      total_age -= age(id);
      --count;
      release_segment(id);
      return true;
    });
  }
}

}  // namespace vramfit::allocator
