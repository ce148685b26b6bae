// PyTorch's native caching allocator of one device, step for step (c10/cuda/CUDACachingAllocator.cpp,
// DeviceCachingAllocator): the same requests in the same order get the same blocks, segments, statistics and OOMs.
//
//   malloc: process_events -> round -> best fit -> (collect) -> new segment -> last-resort pools -> release oversize
//           -> release all and retry -> OOM
//
// It shares nothing with the virtual GPU, on which the real allocator runs; tests/allocator compares the two.
#ifndef VRAMFIT_ALLOCATOR_SIMULATOR_H
#define VRAMFIT_ALLOCATOR_SIMULATOR_H

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/block.h"
#include "allocator/device.h"
#include "allocator/oom.h"
#include "allocator/rules.h"
#include "allocator/settings.h"
#include "allocator/state.h"
#include "allocator/statistics.h"
#include "allocator/trace.h"

namespace vramfit::allocator {

struct PoolOptions {
  bool has_own_allocator = false;
  bool use_on_oom = false;  // 2.8
  bool no_split = false;    // 2.8
};

// Says whether an event that was recorded has passed; events are numbered from 0 as they are recorded.
class EventSource {
 public:
  virtual ~EventSource() = default;
  virtual bool has_passed(std::uint64_t event) = 0;
  // All of these are waited for, and freed in this order. PyTorch goes through a hash table of streams here.
  virtual void order_for_synchronization(std::vector<BlockId>&) {}
};

class Simulator {
 public:
  Simulator(Device& device, const Rules& rules, const Settings& settings);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // kNoBlock: out of memory, last_oom() says how. `bytes` is not 0. The block is valid until it is freed.
  BlockId malloc(std::uint64_t bytes, StreamHandle stream, std::uint32_t tag = 0);
  void free(BlockId block);
  void record_stream(BlockId block, StreamHandle stream);
  // The events of a freed block have passed. Nothing happens when it is no longer the pending block of `tag`.
  void complete(BlockId block, std::uint32_t tag);
  void empty_cache(PoolId pool = {});

  void set_settings(const Settings& settings);
  void set_memory_fraction(double fraction);
  const Settings& settings() const { return settings_; }
  const Rules& rules() const { return rules_; }

  // MemPool and graph capture. A pool that begins takes the requests of `stream`, or of all.
  void create_pool(PoolId pool, const PoolOptions& options = {});
  void begin_allocate_to_pool(PoolId pool, std::optional<StreamHandle> stream);
  void end_allocate_to_pool(PoolId pool);
  void release_pool(PoolId pool);
  bool has_pool(PoolId pool) const { return find_private(pool) != nullptr; }

  // Takes over segments that were there before the simulation began, block by block; tags are kept.
  void adopt(const AllocatorState& state);

  void set_trace(TraceSink* sink) { trace_ = sink; }
  void set_events(EventSource* events) { events_ = events; }

  const Statistics& statistics() const { return statistics_; }
  Statistics& statistics() { return statistics_; }
  const std::optional<OutOfMemory>& last_oom() const { return last_oom_; }
  const Block& block(BlockId id) const { return blocks_[id]; }
  std::optional<std::uint64_t> limit_bytes() const { return limit_; }
  std::uint64_t reserved_bytes() const { return total_reserved_; }
  // Blocks in use or waiting for events, with their tags.
  std::vector<std::pair<BlockId, std::uint32_t>> live_blocks() const;
  // Segments by address, blocks within; what memory_snapshot() shows.
  AllocatorState state() const;

 private:
  friend class InvariantCheck;

  struct Request {
    std::uint64_t size = 0;  // rounded
    std::uint64_t segment = 0;
    StreamHandle stream = 0;
    std::uint32_t pool = 0;
    std::uint32_t list = 0;
    bool is_expandable = false;
    BlockId block = kNoBlock;
    FreeList::Cursor listed;  // where the block still is in its free list; the end: it is in none
  };
  struct Capture {
    std::uint32_t private_pool = 0;
    std::optional<StreamHandle> stream;
  };
  struct PendingEvent {
    std::uint64_t event = 0;
    BlockId block = kNoBlock;
  };
  struct StreamEvents {
    StreamHandle stream = 0;
    std::deque<PendingEvent> queue;
  };

  // Blocks (simulator.cc).
  // What decides between free blocks of one size. Serials below 2^25 and addresses below 2^48 share one number.
  std::uint64_t order_of(const Block& block) const {
    if (rules_.breaks_ties_by_segment_age) return block.serial << 39 | block.address >> 9;
    return rules_.breaks_ties_by_age ? block.serial : block.address;
  }
  void inherit_serial(BlockId from, BlockId to) {
    if (rules_.breaks_ties_by_segment_age) blocks_[to].serial = blocks_[from].serial;
  }
  BlockId new_block(std::uint32_t list, std::uint64_t address, std::uint64_t size);
  void drop_block(BlockId block);
  void put_free(BlockId block);
  void take_free(BlockId block);
  void link_after(BlockId before, BlockId block);
  std::uint32_t list_of(std::uint32_t pool, StreamHandle stream) {
    const Pool& of = pools_[pool];
    return of.last_list != kNone && of.last_stream == stream ? of.last_list : find_list(pool, stream);
  }
  std::uint32_t find_list(std::uint32_t pool, StreamHandle stream);
  std::uint32_t pool_for(std::uint64_t size, StreamHandle stream) const;
  Pool& pool_of(const Block& block) { return pools_[lists_[block.list]->pool]; }
  const Pool& pool_of(const Block& block) const { return pools_[lists_[block.list]->pool]; }
  PoolId pool_id_of(const Pool& pool) const { return pool.owner == kNone ? PoolId{} : private_pools_[pool.owner].id; }
  bool find_free_block(Request& request);
  bool should_split(const Block& block, const Request& request) const;
  void split(const Request& request);
  BlockId hand_out(const Request& request, std::uint64_t bytes, std::uint32_t tag);
  void free_block(BlockId block);
  bool can_merge(BlockId into, BlockId from) const;
  void merge(BlockId into, BlockId from);
  void absorb(BlockId into, BlockId from);
  bool is_collecting() const { return limit_ && settings_.garbage_collection_threshold > 0; }

  // Segments (simulator_segments.cc).
  BlockId malloc_slow(Request& request);
  bool allocate_segment(Request& request, bool is_retry);
  bool use_last_resort_pool(Request& request);
  bool release_oversize(const Request& request);
  bool release_cached(PoolId pool);
  void release_free_blocks(std::uint32_t pool);
  void release_segment(BlockId block);
  void collect_garbage();
  bool is_over_limit(std::uint64_t more) const { return limit_ && total_reserved_ + more > *limit_; }
  void report_oom(const Request& request);
  OutOfMemory describe_oom(const Request& request) const;

  // Expandable segments (simulator_expandable.cc).
  BlockId allocate_expandable(const Request& request);
  BlockId find_expandable(const Request& request);
  bool map_block(BlockId block, std::uint64_t size);
  void unmap_block(BlockId block);
  void release_expandable(BlockId block);
  void add_unmapped(BlockId block);
  void remove_unmapped(BlockId block);

  // Events of other streams (simulator_events.cc).
  void insert_events(BlockId block);
  void insert_deferred_events();
  void process_events();
  void synchronize_events(std::uint32_t only_of);
  void finish_event(BlockId block);
  bool is_over(const PendingEvent& event) const;  // complete() ended the wait of its block

  // What was there before (simulator_adopt.cc).
  void adopt_plain(const StateSegment& segment, std::uint32_t list);
  void adopt_expandable(const std::vector<const StateSegment*>& runs, std::uint32_t list);
  BlockId adopt_blocks(const StateSegment& segment, std::uint32_t list, std::uint32_t expandable, BlockId previous);
  BlockId adopt_block(const StateBlock& block, std::uint32_t list, std::uint32_t expandable, BlockId previous);

  // Private pools (simulator_pools.cc).
  PrivatePool* find_private(PoolId pool);
  const PrivatePool* find_private(PoolId pool) const;

  void trace(TraceAction action, std::uint64_t address, std::uint64_t size, StreamHandle stream, const Pool& pool,
             std::uint32_t tag) {
    if (trace_ != nullptr) trace_->on_event({action, address, size, stream, pool_id_of(pool), tag});
  }

  Device& device_;
  Rules rules_;
  Settings settings_;
  bool rounds_to_blocks_ = true;  // no divisions of powers of two
  Statistics statistics_;
  std::optional<std::uint64_t> limit_;
  std::uint64_t total_reserved_ = 0;
  std::optional<OutOfMemory> last_oom_;
  TraceSink* trace_ = nullptr;
  EventSource* events_ = nullptr;

  std::vector<Block> blocks_;
  BlockId spare_block_ = kNone;                     // the first one that is not in use; `next` links them
  std::vector<Pool> pools_;                         // 0: small, 1: large, then those of private pools
  std::vector<std::unique_ptr<StreamList>> lists_;  // large, and referred to while others are made
  std::deque<PrivatePool> private_pools_;
  std::vector<ExpandableSegment> expandables_;
  std::vector<Capture> captures_;

  std::unordered_map<BlockId, std::vector<StreamHandle>> uses_;  // stream_uses
  // block_to_cudagraph_stream_uses, by serial: an entry outlives its tenant, as it does in PyTorch.
  std::unordered_map<std::uint64_t, std::vector<StreamHandle>> capture_uses_;
  std::vector<StreamEvents> pending_;  // cuda_events
  std::vector<BlockId> deferred_;      // freed while a graph was captured
  std::uint64_t next_event_ = 0;
  std::uint64_t next_serial_ = 0;
};

}  // namespace vramfit::allocator

#endif
