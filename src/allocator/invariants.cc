#include "allocator/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace vramfit::allocator {
namespace {

bool is_free(const Block& block) { return !block.is_in_use(); }

}  // namespace

std::vector<std::string> InvariantCheck::violations() {
  found_.clear();
  check_neighbours();
  check_lists();
  check_sums();
  return found_;
}

// Blocks tile their segment, and no two free neighbours that could be one are two.
void InvariantCheck::check_neighbours() {
  const auto& blocks = simulator_.blocks_;
  for (BlockId id = 0; id < blocks.size(); ++id) {
    const Block& block = blocks[id];
    if (block.list == kNone) continue;
    if (block.size == 0 || block.size % kMinBlockBytes != 0)
      found_.push_back(fmt::format("block {}: size {}", id, block.size));
    if (!block.is_mapped && !is_free(block)) found_.push_back(fmt::format("block {}: in use and not mapped", id));
    if (block.next == kNone) continue;
    const Block& next = blocks[block.next];
    if (next.previous != id) found_.push_back(fmt::format("block {}: its neighbour does not know it", id));
    if (next.list != block.list) found_.push_back(fmt::format("block {}: its neighbour is of another list", id));
    if (next.address != block.address + block.size) found_.push_back(fmt::format("block {}: a gap follows", id));
    if (is_free(block) && is_free(next) && block.is_mapped == next.is_mapped) {
      found_.push_back(fmt::format("blocks {} and {}: free neighbours that were not merged", id, block.next));
    }
  }
}

// The free lists hold exactly the free mapped blocks, in order; the unmapped lists the unmapped ones.
void InvariantCheck::check_lists() {
  std::size_t listed = 0, unmapped = 0;
  for (const auto& owned : simulator_.lists_) {
    const StreamList& list = *owned;
    std::uint64_t size = 0, order = 0;
    std::size_t walked = 0;
    for (auto at = list.free.first(); !at.is_end(); at = list.free.next(at), ++walked) {
      const FreeList::Entry& entry = list.free.at(at);
      const Block& block = simulator_.blocks_[entry.block];
      if (block.list == kNone || simulator_.lists_[block.list] != owned || !is_free(block) || !block.is_mapped ||
          block.size != entry.size || simulator_.order_of(block) != entry.order) {
        found_.push_back(fmt::format("free list: entry of block {} is not that block", entry.block));
      }
      if (entry.size < size || (entry.size == size && entry.order <= order && walked > 0)) {
        found_.push_back(fmt::format("free list: block {} is out of order", entry.block));
      }
      size = entry.size;
      order = entry.order;
    }
    if (walked != list.free.size()) found_.push_back("free list: its size is not the number of its entries");
    listed += walked;
    unmapped += list.unmapped.size();
  }
  std::size_t free = 0, without_pages = 0;
  for (const Block& block : simulator_.blocks_) {
    if (block.list == kNone || !is_free(block)) continue;
    ++(block.is_mapped ? free : without_pages);
  }
  if (free != listed) found_.push_back(fmt::format("{} free blocks, {} in the free lists", free, listed));
  if (without_pages != unmapped)
    found_.push_back(fmt::format("{} unmapped blocks, {} listed", without_pages, unmapped));
}

// The statistics are the sums over the blocks.
void InvariantCheck::check_sums() {
  std::array<std::array<std::int64_t, 2>, kStatKinds> sums{};
  const auto add = [&](StatKind kind, PoolKind pool, std::int64_t amount) {
    sums[static_cast<std::size_t>(kind)][static_cast<std::size_t>(pool)] += amount;
  };
  std::int64_t reserved = 0;
  for (const Block& block : simulator_.blocks_) {
    if (block.list == kNone || !block.is_mapped) continue;
    const PoolKind pool = simulator_.pool_of(block).kind;
    const auto size = static_cast<std::int64_t>(block.size);
    reserved += size;
    add(StatKind::kReservedBytes, pool, size);
    if (block.expandable == kNone && block.previous == kNone) add(StatKind::kSegment, pool, 1);
    if (block.is_allocated) {
      add(StatKind::kAllocation, pool, 1);
      add(StatKind::kAllocatedBytes, pool, size);
    }
    if (!is_free(block)) {
      add(StatKind::kActive, pool, 1);
      add(StatKind::kActiveBytes, pool, size);
      add(StatKind::kRequestedBytes, pool, static_cast<std::int64_t>(block.requested));
    } else if (block.is_split() && block.expandable == kNone) {
      add(StatKind::kInactiveSplit, pool, 1);
      add(StatKind::kInactiveSplitBytes, pool, size);
    }
  }
  for (std::size_t kind = 0; kind < kStatKinds; ++kind) {
    for (const PoolKind pool : {PoolKind::kSmall, PoolKind::kLarge}) {
      const Stat stat = simulator_.statistics_.of(static_cast<StatKind>(kind), pool);
      const std::int64_t sum = sums[kind][static_cast<std::size_t>(pool)];
      if (stat.current != sum || stat.peak < stat.current || stat.allocated - stat.freed > stat.current) {
        found_.push_back(fmt::format("statistic {} of pool {}: {}, and the blocks say {}", kind, static_cast<int>(pool),
                                     stat.current, sum));
      }
    }
  }
  if (static_cast<std::int64_t>(simulator_.total_reserved_) != reserved) {
    found_.push_back(fmt::format("{} bytes reserved, and the blocks say {}", simulator_.total_reserved_, reserved));
  }
}

}  // namespace vramfit::allocator
