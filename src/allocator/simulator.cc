#include "allocator/simulator.h"

#include <algorithm>

#include "allocator/pools.h"

namespace vramfit::allocator {
namespace {}  // namespace

Simulator::Simulator(Device& device, const Rules& rules, const Settings& settings) : device_(device), rules_(rules) {
  pools_.push_back({.kind = PoolKind::kSmall, .owner = kNone, .searches = 0, .lists = {}});
  pools_.push_back({.kind = PoolKind::kLarge, .owner = kNone, .searches = 0, .lists = {}});
  set_settings(settings);
  if (settings.has_memory_fraction) set_memory_fraction(settings.memory_fraction);
  // Read once, by the constructor of DeviceCachingAllocator.
  statistics_.max_split_bytes = counted(settings.max_split_bytes);
}

void Simulator::set_settings(const Settings& settings) {
  const double fraction = settings_.memory_fraction;
  const bool has_fraction = settings_.has_memory_fraction;
  settings_ = settings;
  rounds_to_blocks_ = std::ranges::all_of(settings.roundup_power2_divisions, [](auto count) { return count <= 1; });
  settings_.memory_fraction = fraction;
  settings_.has_memory_fraction = has_fraction;
}

void Simulator::set_memory_fraction(double fraction) {
  settings_.memory_fraction = fraction;
  settings_.has_memory_fraction = true;
  limit_.reset();
  if (fraction < 1 || !rules_.limit_only_below_one) {
    limit_ = static_cast<std::uint64_t>(fraction * static_cast<double>(device_.total_bytes()));
  }
}

BlockId Simulator::new_block(std::uint32_t list, std::uint64_t address, std::uint64_t size) {
  BlockId id = 0;
  if (spare_block_ == kNone) {
    id = static_cast<BlockId>(blocks_.size());
    blocks_.emplace_back();
  } else {
    id = spare_block_;
    spare_block_ = blocks_[id].next;
    blocks_[id] = Block{};
  }
  Block& block = blocks_[id];
  block.list = list;
  block.address = address;
  block.size = size;
  block.serial = next_serial_++;
  return id;
}

void Simulator::drop_block(BlockId block) {
  blocks_[block].list = kNone;
  blocks_[block].next = spare_block_;
  spare_block_ = block;
}

void Simulator::put_free(BlockId id) {
  Block& block = blocks_[id];
  StreamList& list = *lists_[block.list];
  block.age_base = pools_[list.pool].searches;
  list.free.insert({block.size, order_of(block), id});
}

void Simulator::take_free(BlockId id) {
  const Block& block = blocks_[id];
  lists_[block.list]->free.erase(block.size, order_of(block));
}

void Simulator::link_after(BlockId before, BlockId id) {
  Block& block = blocks_[id];
  Block& left = blocks_[before];
  block.previous = before;
  block.next = left.next;
  left.next = id;
  if (block.next != kNone) blocks_[block.next].previous = id;
}

std::uint32_t Simulator::find_list(std::uint32_t pool, StreamHandle stream) {
  std::vector<std::uint32_t>& lists = pools_[pool].lists;
  auto found =
      std::find_if(lists.begin(), lists.end(), [&](std::uint32_t list) { return lists_[list]->stream >= stream; });
  if (found == lists.end() || lists_[*found]->stream != stream) {
    found = lists.insert(found, static_cast<std::uint32_t>(lists_.size()));
    StreamList& list = *lists_.emplace_back(std::make_unique<StreamList>());
    list.stream = stream;
    list.pool = pool;
  }
  pools_[pool].last_stream = stream;
  pools_[pool].last_list = *found;
  return *found;
}

std::uint32_t Simulator::pool_for(std::uint64_t size, StreamHandle stream) const {
  const bool is_small = size <= kSmallBytes;
  const auto accepts = [&](const Capture& capture) { return !capture.stream || *capture.stream == stream; };
  const Capture* taken = nullptr;
  for (const Capture& capture : captures_) {
    if (!accepts(capture)) continue;
    taken = &capture;
    if (!rules_.newest_pool_first) break;
  }
  if (taken == nullptr) return is_small ? kSmallPool : kLargePool;
  const PrivatePool& pool = private_pools_[taken->private_pool];
  return is_small ? pool.small : pool.large;
}

BlockId Simulator::malloc(std::uint64_t bytes, StreamHandle stream, std::uint32_t tag) {
  if (captures_.empty() && !(pending_.empty() && deferred_.empty())) process_events();
  Request request;
  request.size = rounds_to_blocks_ ? round_to_blocks(bytes) : round_size(bytes, settings_);
  request.stream = stream;
  request.pool = pool_for(request.size, stream);
  request.list = list_of(request.pool, stream);
  const std::uint32_t owner = pools_[request.pool].owner;
  request.is_expandable = settings_.expandable_segments && !(owner != kNone && private_pools_[owner].has_own_allocator);
  if (!find_free_block(request) && malloc_slow(request) == kNoBlock) {
    last_oom_->requested_bytes = bytes;
    return kNoBlock;
  }
  return hand_out(request, bytes, tag);
}

bool Simulator::find_free_block(Request& request) {
  if (is_collecting()) ++pools_[request.pool].searches;
  FreeList& list = lists_[request.list]->free;
  FreeList::Cursor at = list.lower_bound(request.size);
  if (at.is_end()) return false;
  const auto is_expandable = [&](const FreeList::Cursor& cursor) {
    return blocks_[list.at(cursor).block].expandable != kNone;
  };
  if (is_expandable(at)) {
    if (request.is_expandable) {
      // A block before unmapped pages counts with them: holes inside are preferred to the end that can grow.
      const auto reach = [&](const FreeList::Cursor& cursor) {
        const Block& block = blocks_[list.at(cursor).block];
        const bool grows = block.next != kNone && !blocks_[block.next].is_mapped;
        return block.size + (grows ? blocks_[block.next].size : 0);
      };
      FreeList::Cursor next = list.next(at);
      while (is_expandable(at) && !next.is_end() && reach(next) < reach(at)) {
        at = next;
        next = list.next(at);
      }
    } else {
      do {
        at = list.next(at);
      } while (!at.is_end() && is_expandable(at));
      if (at.is_end()) return false;
    }
  }
  const FreeList::Entry& found = list.at(at);
  const std::uint64_t oversize = settings_.max_split_bytes;
  if (request.size < oversize && found.size >= oversize) return false;
  if (request.size >= oversize && found.size >= request.size + settings_.max_non_split_rounding_bytes) return false;
  request.block = found.block;
  request.listed = at;
  return true;
}

bool Simulator::should_split(const Block& block, const Request& request) const {
  const Pool& pool = pools_[request.pool];
  if (pool.owner != kNone && private_pools_[pool.owner].is_no_split) return false;
  const std::uint64_t rest = block.size - request.size;
  if (pool.kind == PoolKind::kSmall || request.is_expandable) return rest >= kMinBlockBytes;
  return request.size < settings_.max_split_bytes && rest > kSmallBytes;
}

// The low part is handed out. In PyTorch it is a new object and the rest stays what was found: that shows in the order
// of blocks of one size, and in what an inactive block says was requested of it last.
//
//   [        found        ]   ->   [ handed out | rest ]
void Simulator::split(const Request& request) {
  const BlockId id = request.block;
  const BlockId rest_id = new_block(request.list, blocks_[id].address + request.size, blocks_[id].size - request.size);
  Block& low = blocks_[id];
  Block& rest = blocks_[rest_id];
  low.size = request.size;
  rest.expandable = low.expandable;
  rest.requested = low.requested;
  std::swap(rest.serial, low.serial);
  inherit_serial(rest_id, id);
  link_after(id, rest_id);
  rest.age_base = pools_[request.pool].searches;
  FreeList& free = lists_[request.list]->free;
  const FreeList::Entry entry{rest.size, order_of(rest), rest_id};
  if (request.listed.is_end()) {
    free.insert(entry);
  } else {
    free.replace(request.listed, entry);
  }
}

BlockId Simulator::hand_out(const Request& request, std::uint64_t bytes, std::uint32_t tag) {
  const BlockId id = request.block;
  const PoolKind kind = pools_[request.pool].kind;
  const bool was_split = blocks_[id].is_split();
  const std::int64_t found = counted(blocks_[id].size);
  std::int64_t split_blocks = was_split ? -1 : 0;
  std::int64_t split_bytes = was_split ? -found : 0;
  if (should_split(blocks_[id], request)) {
    split(request);
    ++split_blocks;
    split_bytes += found - counted(request.size);
  } else if (!request.listed.is_end()) {
    lists_[request.list]->free.erase(request.listed);
  }
  Block& block = blocks_[id];
  block.is_allocated = true;
  block.requested = bytes;
  block.tag = tag;
  trace(TraceAction::kAlloc, block.address, bytes, request.stream, pools_[request.pool], tag);
  if (block.expandable == kNone) {
    statistics_.change(StatKind::kInactiveSplit, kind, split_blocks);
    statistics_.change(StatKind::kInactiveSplitBytes, kind, split_bytes);
  }
  statistics_.increase(StatKind::kAllocation, kind, 1);
  statistics_.increase(StatKind::kAllocatedBytes, kind, counted(block.size));
  statistics_.increase(StatKind::kActive, kind, 1);
  statistics_.increase(StatKind::kActiveBytes, kind, counted(block.size));
  statistics_.increase(StatKind::kRequestedBytes, kind, counted(bytes));
  if (block.size >= settings_.max_split_bytes) increase(statistics_.oversize_allocations, 1);
  return id;
}

void Simulator::free(BlockId id) {
  Block& block = blocks_[id];
  block.is_allocated = false;
  const StreamList& list = *lists_[block.list];
  const Pool& pool = pools_[list.pool];
  statistics_.decrease(StatKind::kAllocation, pool.kind, 1);
  statistics_.decrease(StatKind::kAllocatedBytes, pool.kind, counted(block.size));
  trace(TraceAction::kFreeRequested, block.address, block.requested, list.stream, pool, block.tag);
  if (block.size >= settings_.max_split_bytes) decrease(statistics_.oversize_allocations, 1);
  if (!block.has_uses) {
    free_block(id);
  } else if (captures_.empty()) {
    insert_events(id);
  } else {
    deferred_.push_back(id);
  }
}

void Simulator::free_block(BlockId id) {
  Block& block = blocks_[id];
  StreamList& list = *lists_[block.list];
  const Pool& pool = pools_[list.pool];
  trace(TraceAction::kFreeCompleted, block.address, block.requested, list.stream, pool, block.tag);
  statistics_.decrease(StatKind::kActive, pool.kind, 1);
  statistics_.decrease(StatKind::kActiveBytes, pool.kind, counted(block.size));
  statistics_.decrease(StatKind::kRequestedBytes, pool.kind, counted(block.requested));
  std::int64_t split_blocks = 0;
  std::int64_t split_bytes = 0;
  FreeList::Entry absorbed{0, 0, kNoBlock};  // the larger neighbour: the merged block takes its place in the list
  for (const BlockId neighbour : {block.previous, block.next}) {
    if (neighbour == kNone || !can_merge(id, neighbour)) continue;
    const Block& other = blocks_[neighbour];
    FreeList::Entry entry{other.size, order_of(other), neighbour};
    --split_blocks;
    split_bytes -= counted(other.size);
    absorb(id, neighbour);
    if (entry.size > absorbed.size) std::swap(entry, absorbed);
    if (entry.block != kNoBlock) list.free.erase(entry.size, entry.order);
  }
  block.age_base = pool.searches;
  const FreeList::Entry merged{block.size, order_of(block), id};
  if (absorbed.block == kNoBlock) {
    list.free.insert(merged);
  } else {
    list.free.replace(absorbed.size, absorbed.order, merged);
  }
  if (block.expandable != kNone) return;
  if (block.is_split()) {
    ++split_blocks;
    split_bytes += counted(block.size);
  }
  statistics_.change(StatKind::kInactiveSplit, pool.kind, split_blocks);
  statistics_.change(StatKind::kInactiveSplitBytes, pool.kind, split_bytes);
}

// try_merge_blocks. `into` is in no list.
bool Simulator::can_merge(BlockId into, BlockId from) const {
  const Block& source = blocks_[from];
  return !source.is_in_use() && source.is_mapped == blocks_[into].is_mapped;
}

void Simulator::merge(BlockId into, BlockId from) {
  if (!can_merge(into, from)) return;
  if (blocks_[from].is_mapped) {
    take_free(from);
  } else {
    remove_unmapped(from);
  }
  absorb(into, from);
}

void Simulator::absorb(BlockId into, BlockId from) {
  Block& target = blocks_[into];
  const Block& source = blocks_[from];
  if (target.previous == from) {
    target.address = source.address;
    target.previous = source.previous;
    if (target.previous != kNone) blocks_[target.previous].next = into;
  } else {
    target.next = source.next;
    if (target.next != kNone) blocks_[target.next].previous = into;
  }
  target.size += source.size;
  drop_block(from);
}

std::vector<std::pair<BlockId, std::uint32_t>> Simulator::live_blocks() const {
  std::vector<std::pair<BlockId, std::uint32_t>> live;
  for (BlockId id = 0; id < blocks_.size(); ++id) {
    const Block& block = blocks_[id];
    if (block.list != kNone && block.is_in_use()) {
      live.emplace_back(id, block.tag);
    }
  }
  return live;
}

AllocatorState Simulator::state() const {
  AllocatorState state;
  for (const Block& head : blocks_) {
    if (head.list == kNone || !head.is_mapped) continue;
    if (head.previous != kNone && blocks_[head.previous].is_mapped) continue;
    const Pool& pool = pool_of(head);
    StateSegment segment;
    segment.address = head.address;
    segment.stream = lists_[head.list]->stream;
    segment.kind = pool.kind;
    segment.pool = pool_id_of(pool);
    segment.is_expandable = head.expandable != kNone;
    for (const Block* block = &head; block->is_mapped; block = &blocks_[block->next]) {
      const bool is_active = block->is_in_use();
      const BlockState how = block->is_allocated ? BlockState::kActiveAllocated
                             : is_active         ? BlockState::kActivePendingFree
                                                 : BlockState::kInactive;
      segment.blocks.push_back({block->address, block->size, block->requested, how, block->tag});
      segment.total += block->size;
      if (block->is_allocated) segment.allocated += block->size;
      if (is_active) {
        segment.active += block->size;
        segment.requested += block->requested;
      }
      if (block->next == kNone) break;
    }
    state.segments.push_back(std::move(segment));
  }
  std::sort(state.segments.begin(), state.segments.end(),
            [](const StateSegment& a, const StateSegment& b) { return a.address < b.address; });
  return state;
}

}  // namespace vramfit::allocator
