// Expandable segments: one reserved range for each stream of a pool, with pages mapped and unmapped.
//
//   [ block | free | block | unmapped | free | unmapped ................ ]
//   pages of 2 MiB in the small pool, of 20 MiB (large_segment_size_mb) in the large one
#include <algorithm>

#include "allocator/pools.h"
#include "allocator/simulator.h"

namespace vramfit::allocator {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t page) { return (bytes + page - 1) / page * page; }

}  // namespace

void Simulator::add_unmapped(BlockId id) {
  std::vector<BlockId>& unmapped = lists_[blocks_[id].list]->unmapped;
  const auto place = std::partition_point(unmapped.begin(), unmapped.end(),
                                          [&](BlockId other) { return blocks_[other].address < blocks_[id].address; });
  unmapped.insert(place, id);
}

void Simulator::remove_unmapped(BlockId id) { std::erase(lists_[blocks_[id].list]->unmapped, id); }

// The lowest place of free and unmapped neighbours that together hold `size`; a new range when there is none.
BlockId Simulator::find_expandable(const Request& request) {
  const auto is_open = [&](BlockId id) { return id != kNone && !blocks_[id].is_in_use(); };
  for (BlockId id : lists_[request.list]->unmapped) {
    if (is_open(blocks_[id].previous)) id = blocks_[id].previous;
    std::uint64_t room = 0;
    for (BlockId at = id; room < request.size && is_open(at); at = blocks_[at].next) room += blocks_[at].size;
    if (room >= request.size) return id;
  }
  ExpandableSegment segment;
  segment.page_bytes =
      pools_[request.pool].kind == PoolKind::kSmall ? kSmallSegmentBytes : settings_.large_segment_bytes;
  segment.size = round_up(device_.total_bytes() + device_.total_bytes() / 8, segment.page_bytes);
  segment.address = device_.reserve(segment.size, segment.page_bytes, request.stream, pool_id_of(pools_[request.pool]));
  segment.is_live = true;
  const BlockId id = new_block(request.list, segment.address, segment.size);
  blocks_[id].is_mapped = false;
  blocks_[id].expandable = static_cast<std::uint32_t>(expandables_.size());
  expandables_.push_back(segment);
  add_unmapped(id);
  return id;
}

bool Simulator::map_block(BlockId id, std::uint64_t size) {
  const ExpandableSegment& segment = expandables_[blocks_[id].expandable];
  const std::uint64_t begin = blocks_[id].address;
  const std::uint64_t bytes = round_up(begin + size - segment.address, segment.page_bytes) - (begin - segment.address);
  if (!device_.map(begin, bytes, segment.page_bytes)) return false;
  remove_unmapped(id);
  blocks_[id].is_mapped = true;
  if (bytes < blocks_[id].size) {
    const BlockId rest = new_block(blocks_[id].list, begin + bytes, blocks_[id].size - bytes);
    blocks_[rest].is_mapped = false;
    blocks_[rest].expandable = blocks_[id].expandable;
    inherit_serial(id, rest);
    blocks_[id].size = bytes;
    link_after(id, rest);
    add_unmapped(rest);
  }
  for (const BlockId neighbour : {blocks_[id].previous, blocks_[id].next}) {
    if (neighbour != kNone) merge(id, neighbour);
  }
  put_free(id);
  total_reserved_ += bytes;
  const Pool& pool = pool_of(blocks_[id]);
  statistics_.increase(StatKind::kReservedBytes, pool.kind, counted(bytes));
  ++statistics_.device_allocations;
  trace(TraceAction::kSegmentMap, begin, bytes, lists_[blocks_[id].list]->stream, pool, 0);
  return true;
}

// Pieces that were mapped before one failed stay mapped, as in try_allocate_expandable_block.
BlockId Simulator::allocate_expandable(const Request& request) {
  BlockId candidate = find_expandable(request);
  if (!blocks_[candidate].is_mapped && !map_block(candidate, std::min(blocks_[candidate].size, request.size))) {
    return kNoBlock;
  }
  while (blocks_[candidate].size < request.size) {
    const BlockId next = blocks_[candidate].next;
    const std::uint64_t missing = request.size - blocks_[candidate].size;
    if (next == kNone || !map_block(next, std::min(missing, blocks_[next].size))) return kNoBlock;
    candidate = next;
  }
  take_free(candidate);
  return candidate;
}

// Gives back the pages that lie wholly within a free block, which falls into up to three.
//
//   [ before | whole pages, unmapped | after ]
void Simulator::unmap_block(BlockId id) {
  const ExpandableSegment& segment = expandables_[blocks_[id].expandable];
  const std::uint64_t from = blocks_[id].address - segment.address;
  const std::uint64_t begin = segment.address + round_up(from, segment.page_bytes);
  const std::uint64_t end = segment.address + (from + blocks_[id].size) / segment.page_bytes * segment.page_bytes;
  if (begin >= end) return;
  device_.unmap(begin, end - begin, segment.page_bytes);
  take_free(id);
  const std::uint32_t list = blocks_[id].list;
  const std::uint32_t expandable = blocks_[id].expandable;
  const std::uint64_t old_begin = blocks_[id].address, old_end = old_begin + blocks_[id].size;
  if (begin > old_begin) {
    const BlockId before = new_block(list, old_begin, begin - old_begin);
    blocks_[before].expandable = expandable;
    inherit_serial(id, before);
    const BlockId left = blocks_[id].previous;
    blocks_[before].previous = left;
    blocks_[before].next = id;
    if (left != kNone) blocks_[left].next = before;
    blocks_[id].previous = before;
    put_free(before);
  }
  if (old_end > end) {
    const BlockId after = new_block(list, end, old_end - end);
    blocks_[after].expandable = expandable;
    inherit_serial(id, after);
    link_after(id, after);
    put_free(after);
  }
  blocks_[id].address = begin;
  blocks_[id].size = end - begin;
  blocks_[id].is_mapped = false;
  for (const BlockId neighbour : {blocks_[id].previous, blocks_[id].next}) {
    if (neighbour != kNone) merge(id, neighbour);
  }
  add_unmapped(id);
  total_reserved_ -= end - begin;
  const Pool& pool = pool_of(blocks_[id]);
  statistics_.decrease(StatKind::kReservedBytes, pool.kind, counted(end - begin));
  if (pool.owner != kNone) --private_pools_[pool.owner].device_allocations;
  ++statistics_.device_frees;
  trace(TraceAction::kSegmentUnmap, begin, end - begin, lists_[list]->stream, pool, 0);
}

void Simulator::release_expandable(BlockId id) {
  if (blocks_[id].is_mapped) return;
  ExpandableSegment& segment = expandables_[blocks_[id].expandable];
  remove_unmapped(id);
  device_.unreserve(segment.address, segment.size);
  segment.is_live = false;
  drop_block(id);
}

}  // namespace vramfit::allocator
