#include "allocator/attribution.h"

#include <algorithm>
#include <map>

namespace vramfit::allocator {
namespace {

// What a free block gives back: the whole pages in it if its segment is expandable, else all or nothing.
std::uint64_t returnable_of(const StateSegment& segment, const StateBlock& block, const Settings& settings) {
  if (!segment.pool.is_default()) return 0;
  if (!segment.is_expandable) return block.size == segment.total ? block.size : 0;
  const std::uint64_t page = segment.kind == PoolKind::kSmall ? kSmallSegmentBytes : settings.large_segment_bytes;
  // Pages are counted from where the range begins: the run's first address is one of their borders.
  const std::uint64_t from = block.address - segment.address;
  const std::uint64_t begin = (from + page - 1) / page * page, end = (from + block.size) / page * page;
  return end > begin ? end - begin : 0;
}

struct Share {
  std::uint64_t bytes = 0;
  std::int64_t blocks = 0;
};

}  // namespace

Attribution attribute(const AllocatorState& state, const Settings& settings, const OwnerOf& owner_of) {
  Attribution result;
  std::map<OwnerId, PinningOwner> owners;
  for (const StateSegment& segment : state.segments) {
    PinnedSegment pinned{segment.address, segment.total,         0, 0, 0, 0, segment.kind, segment.pool,
                         segment.stream,  segment.is_expandable, {}};
    std::map<OwnerId, Share> shares;
    std::uint64_t returnable = 0;
    for (const StateBlock& block : segment.blocks) {
      if (block.state != BlockState::kInactive) {
        Share& share = shares[owner_of(block)];
        share.bytes += block.size;
        ++share.blocks;
        pinned.live += block.size;
        ++pinned.live_blocks;
        continue;
      }
      pinned.free += block.size;
      pinned.largest_hole = std::max(pinned.largest_hole, block.size);
      returnable += returnable_of(segment, block, settings);
    }
    result.reserved += segment.total;
    result.live += pinned.live;
    result.free += pinned.free;
    result.returnable += returnable;
    result.largest_hole = std::max(result.largest_hole, pinned.largest_hole);
    if (!segment.pool.is_default()) result.in_pools += pinned.free;
    const std::uint64_t held = pinned.free - returnable;
    if (held == 0 || pinned.live_blocks == 0) continue;
    result.pinned += held;
    for (const auto& [owner, share] : shares) {
      PinningOwner& one = owners[owner];
      one.owner = owner;
      (shares.size() == 1 ? one.pinned_alone : one.pinned_shared) += held;
      one.live += share.bytes;
      one.blocks += share.blocks;
      ++one.segments;
      pinned.owners.push_back(owner);
    }
    std::stable_sort(pinned.owners.begin(), pinned.owners.end(),
                     [&](OwnerId a, OwnerId b) { return shares[a].bytes > shares[b].bytes; });
    result.segments.push_back(std::move(pinned));
  }
  std::stable_sort(result.segments.begin(), result.segments.end(),
                   [](const PinnedSegment& a, const PinnedSegment& b) { return a.free > b.free; });
  for (const auto& [id, owner] : owners) result.owners.push_back(owner);
  std::stable_sort(result.owners.begin(), result.owners.end(), [](const PinningOwner& a, const PinningOwner& b) {
    return a.pinned_alone != b.pinned_alone ? a.pinned_alone > b.pinned_alone : a.pinned_shared > b.pinned_shared;
  });
  return result;
}

}  // namespace vramfit::allocator
