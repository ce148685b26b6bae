// A memory snapshot of PyTorch (torch.cuda.memory._snapshot) as plain values, whichever release wrote it.
//
// The release named at a field is the first whose files have it, as far as is known (fixtures/snapshots has gaps); in
// older files it has its default. Read by
// ingest/snapshot, replayed by allocator/, judged by doctor/. Sizes are bytes; PyTorch's words are kept.
//
// Files of a gigabyte must fit: strings, frames, stacks and contexts are stored once and named by an id.
#ifndef VRAMFIT_MODEL_SNAPSHOT_H
#define VRAMFIT_MODEL_SNAPSHOT_H

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/unread_input.h"

namespace vramfit::model {

// Index into Snapshot::strings. The empty string is always 0.
enum class StringId : std::uint32_t { kEmpty = 0 };
// Index into Snapshot::frames.
enum class FrameId : std::uint32_t {};
// Index into the stacks of a snapshot. kNone: no stack was recorded; the file then has no `frames`, or an empty list.
enum class StackId : std::uint32_t { kNone = 0 };
// Index into Snapshot::contexts. Entries of files before 2.7 all have context 0, whose fields are empty.
enum class ContextId : std::uint32_t { kNone = 0 };

struct Frame {
  StringId file = StringId::kEmpty;
  StringId function = StringId::kEmpty;
  std::int32_t line = 0;
  friend bool operator==(const Frame&, const Frame&) = default;
};

// What `augment_with_fx_traces=True` adds to a frame of generated code (2.10).
struct FxNode {
  StringId op = StringId::kEmpty;
  StringId name = StringId::kEmpty;
  StringId original_trace = StringId::kEmpty;
  friend bool operator==(const FxNode&, const FxNode&) = default;
};

// The pool of a CUDA graph or a MemPool; {0, 0} is the default pool.
struct PoolId {
  std::int64_t first = 0;
  std::int64_t second = 0;
  friend auto operator<=>(const PoolId&, const PoolId&) = default;
};

enum class BlockState : std::uint8_t {
  kInactive,           // cached
  kActiveAllocated,    // held by a tensor
  kActivePendingFree,  // freed, and waiting for other streams ("active_awaiting_free" in some files)
  kUnknown,            // a word that this reader does not know; counted in Snapshot::unread
};

struct Block {
  std::uint64_t address = 0;  // 2.1; in older files summed up from the sizes before it
  std::int64_t size = 0;
  std::int64_t requested_size = 0;  // 2.1; before that, from the newest history entry; 0 where neither is there
  StackId stack = StackId::kNone;   // where it was allocated: `frames` (2.1), or of the newest history entry
  std::uint32_t history = 0;        // 2.0: index + 1 into Snapshot::histories; 0: none
  BlockState state = BlockState::kInactive;
  friend bool operator==(const Block&, const Block&) = default;
};

// One earlier tenant of a block, newest first (`history`, 2.0 and nightly builds of 1.14).
struct HistoryEntry {
  std::uint64_t address = 0;
  std::int64_t real_size = 0;  // what was asked for
  StackId stack = StackId::kNone;
  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

struct Segment {
  int device = 0;
  std::uint64_t address = 0;
  std::int64_t total_size = 0;
  std::int64_t allocated_size = 0;
  std::int64_t active_size = 0;
  std::int64_t requested_size = 0;  // 2.1
  std::int64_t stream = 0;          // the handle's value; 0 is the default stream
  bool is_large = false;            // `segment_type` is "large": the large pool
  bool is_expandable = false;       // 2.1
  PoolId pool;                      // 2.1: `segment_pool_id`
  StackId stack = StackId::kNone;   // 2.1: what made it grow
  std::vector<Block> blocks;        // tile the segment, lowest address first
  friend bool operator==(const Segment&, const Segment&) = default;
};

enum class TraceAction : std::uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,    // 2.1, expandable segments
  kSegmentUnmap,  // 2.1
  kSnapshot,      // a snapshot was taken; `size` is what was active then
  kOom,
  kUserDefined,  // 2.6
  kAnnotate,     // 2.14: torch.cuda.memory._annotate_tensor; the text is the context's user_metadata
  kFree,         // nightly builds before 2.0: requested and completed in one
  kUnknown,      // a word that this reader does not know; counted in Snapshot::unread
};

// Strings and pool of an entry, stored once for all entries that agree in them.
struct TraceContext {
  StringId compile_context = StringId::kEmpty;    // 2.7; "N/A" outside torch.compile
  StringId user_metadata = StringId::kEmpty;      // 2.10: torch.cuda.memory._set_memory_metadata
  StringId internal_metadata = StringId::kEmpty;  // 2.15: "mallocWithAddress", ...
  std::optional<PoolId> pool;                     // 2.12: `pool_id`
  friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

struct TraceEntry {
  std::uint64_t addr = 0;  // for kOom: what the driver reported free ("device_free" in the file)
  std::int64_t size = 0;   // alloc and free_*: requested; segment_*: real; oom: the rounded request
  std::int64_t stream = 0;
  std::int64_t time_us = 0;  // 2.1: microseconds since 1970; 0 in older files
  StackId stack = StackId::kNone;
  ContextId context = ContextId::kNone;
  TraceAction action = TraceAction::kUnknown;

  std::int64_t device_free() const { return static_cast<std::int64_t>(addr); }  // of kOom only
  friend bool operator==(const TraceEntry&, const TraceEntry&) = default;
};

// A range of record_function on a device (`external_annotations`, 2.5).
struct Annotation {
  StringId name = StringId::kEmpty;
  bool is_start = false;  // `stage`: START or END
  int device = 0;
  std::int64_t time_us = 0;
  friend bool operator==(const Annotation&, const Annotation&) = default;
};

// `allocator_settings` (2.2): what was in force, not only what was asked for.
struct AllocatorSettings {
  std::string conf;                            // PYTORCH_CUDA_ALLOC_CONF as it was last parsed
  std::optional<std::int64_t> max_split_size;  // bytes; none: unlimited (the file's -1 or 2^64 - 1)
  double garbage_collection_threshold = 0;
  bool expandable_segments = false;
  bool release_lock_on_cudamalloc = false;
  bool pinned_use_cuda_host_register = false;
  bool graph_capture_record_stream_reuse = false;  // 2.9
  std::int64_t pinned_num_register_threads = 1;
  std::optional<std::int64_t> max_round_threshold;                // 2.14, bytes; none: unlimited (-1)
  std::optional<std::int64_t> max_cached_size;                    // 2.14, bytes; none: unlimited (-1)
  std::map<std::int64_t, std::int64_t> roundup_power2_divisions;  // MiB, a power of two -> divisions
  std::map<std::string, std::string> raw;                         // every key of the file, its value as JSON
  friend bool operator==(const AllocatorSettings&, const AllocatorSettings&) = default;
};

// A field that this reader has no place for. "trace.new_field" -> how often, and what the first values were, as JSON.
struct UnknownField {
  std::int64_t count = 0;
  std::vector<std::string> examples;  // the first few different ones, each cut at 1000 bytes
  friend bool operator==(const UnknownField&, const UnknownField&) = default;
};

// What the trace of a device does not show, because the ring buffer lost it or recording began late
// (ingest/snapshot/trace_gap.h works it out).
struct TraceGap {
  int device = 0;
  std::int64_t entries = 0;
  std::int64_t first_time_us = 0;  // of the oldest entry that is left; 0: no entries, or a file before 2.1
  std::int64_t last_time_us = 0;
  // Blocks of the final state that are active and were allocated before the trace begins.
  std::int64_t unseen_blocks = 0;
  std::int64_t unseen_block_bytes = 0;
  // Frees of what was allocated before, and released segments that came before.
  std::int64_t unseen_frees = 0;
  std::int64_t unseen_segments = 0;  // segments of the final state that the trace didn't see come
  bool is_complete() const { return unseen_blocks == 0 && unseen_frees == 0 && unseen_segments == 0; }
  friend bool operator==(const TraceGap&, const TraceGap&) = default;
};

struct Snapshot {
  std::vector<Segment> segments;                // in the file's order, which is that of addresses per device
  std::vector<std::vector<TraceEntry>> traces;  // per device index, oldest first; the ring buffer loses the start
  std::optional<AllocatorSettings> settings;    // 2.2
  std::vector<Annotation> annotations;          // 2.6
  std::vector<Segment> host_segments;           // 2.14: the pinned host allocator
  std::vector<TraceEntry> host_trace;           // 2.14: `host_traces`, which is one list

  // The tables that the ids above point into.
  std::vector<std::string> strings{std::string()};
  std::vector<Frame> frames;
  std::map<FrameId, FxNode> fx_nodes;
  std::vector<FrameId> stack_frames;              // of all stacks, one after the other
  std::vector<std::uint32_t> stack_starts{0, 0};  // stack i is [starts[i], starts[i + 1]); stack 0 is kNone
  std::vector<TraceContext> contexts{TraceContext()};
  std::vector<std::vector<HistoryEntry>> histories;

  // About the reading.
  std::string torch_at_least;  // the oldest release that writes such a file: "2.0", "2.6", "2.14", ...
  std::map<std::string, UnknownField> unknown;
  std::map<std::string, UnreadInput> unread;
  std::optional<std::int64_t> truncated_at;  // the file ends too early or is damaged there (an offset in the pickle):
                                             // what was complete before it is here
  std::string damage;                        // what was wrong there

  std::string_view text(StringId id) const { return strings[static_cast<std::size_t>(id)]; }
  const Frame& frame(FrameId id) const { return frames[static_cast<std::size_t>(id)]; }
  const TraceContext& context(ContextId id) const { return contexts[static_cast<std::size_t>(id)]; }
  // Innermost call first, as in the file. Empty for kNone.
  std::span<const FrameId> stack(StackId id) const {
    const auto index = static_cast<std::size_t>(id);
    return std::span(stack_frames).subspan(stack_starts[index], stack_starts[index + 1] - stack_starts[index]);
  }

  // Adds one for those who build a snapshot by hand. Equal content gives an id of its own each time.
  StringId add_string(std::string_view text);
  FrameId add_frame(std::string_view file, std::string_view function, int line);
  StackId add_stack(std::span<const FrameId> frames);
};

// The file's words: "active_allocated", "free_completed", ...
std::string_view block_state_name(BlockState state);
std::string_view trace_action_name(TraceAction action);
// kUnknown for a word that is none of them.
BlockState parse_block_state(std::string_view word);

}  // namespace vramfit::model

#endif
