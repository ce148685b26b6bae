// Turns the dicts and lists of a pickled snapshot into model::Snapshot as they go by. What a dict is, its keys tell: a
// trace entry has an `action`, a frame a `filename`; where the dict stands doesn't matter, so that snapshots inside
// other things are found too.
#ifndef VRAMFIT_INGEST_SNAPSHOT_BUILDER_H
#define VRAMFIT_INGEST_SNAPSHOT_BUILDER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ingest/pickle/folder.h"
#include "ingest/pickle/heap.h"
#include "ingest/pickle/strings.h"
#include "ingest/snapshot/tables.h"
#include "ingest/snapshot/words.h"
#include "model/snapshot.h"

namespace vramfit::ingest::snapshot {

// Records that were read and wait for the list around them. Their numbers count up; the usual pickle takes them in that
// order, and then nothing is left behind.
template <class Record>
class Waiting {
 public:
  std::uint64_t add(Record record) {
    records_.push_back(std::move(record));
    return first_ + records_.size() - 1;
  }
  // Null for one that was taken and dropped long ago: the pickle used it twice.
  const Record* take(std::uint64_t number) {
    if (number < first_) return nullptr;
    if (number == first_ + taken_) ++taken_;
    return &records_[number - first_];
  }
  Record* find(std::uint64_t number) { return number < first_ ? nullptr : &records_[number - first_]; }
  // Forgets what was taken. Must be called before records are added.
  void forget_taken() {
    if (taken_ == 0 || taken_ != records_.size()) return;
    first_ += taken_;
    records_.clear();
    taken_ = 0;
  }
  std::size_t memory_bytes() const { return records_.capacity() * sizeof(Record); }

 private:
  std::vector<Record> records_;
  std::uint64_t first_ = 0;
  std::size_t taken_ = 0;
};

class Builder final : public pickle::Folder {
 public:
  void attach(pickle::Strings& strings, pickle::Heap& heap) override;
  std::optional<pickle::Value> fold_dict(std::span<const pickle::Value> items, bool is_cut) override;
  bool add_to_dict(const pickle::Value& folded, const pickle::Value& key, const pickle::Value& value) override;
  std::optional<pickle::Value> fold_tuple(std::span<const pickle::Value> items) override;
  std::optional<pickle::Value> begin_list(const pickle::Value& first) override;
  bool add_to_list(const pickle::Value& folded, const pickle::Value& item) override;
  std::size_t memory_bytes() const override;

  // What the whole pickle was. False: no snapshot. After a cut, whatever there is.
  bool finish(const pickle::Value& result, bool is_cut);
  model::Snapshot& snapshot() { return snapshot_; }

 private:
  using Value = pickle::Value;
  enum Tag : std::uint8_t {
    kFrame,
    kBlock,
    kEntry,
    kSegment,
    kHistoryEntry,
    kAnnotation,
    kPair,
    kStack,
    kRoot,
    kBlockList,
    kEntryList,
    kSegmentList,
    kHistoryList,
    kAnnotationList,
  };
  struct Pair {
    std::int64_t first = 0;
    std::int64_t second = 0;
  };

  bool looks_like_root(std::span<const Value> items) const;
  Value fold_frame(std::span<const Value> items);
  Value fold_block(std::span<const Value> items);
  Value fold_history(std::span<const Value> items);
  Value fold_entry(std::span<const Value> items);
  Value fold_segment(std::span<const Value> items);
  Value fold_annotation(std::span<const Value> items);
  Value fold_root(std::span<const Value> items);

  void set_block_field(model::Block& block, const Value& key, const Value& value);
  void set_entry_field(model::TraceEntry& entry, model::TraceContext& context, const Value& key, const Value& value);
  void set_segment_field(model::Segment& segment, const Value& key, const Value& value);
  void complete_blocks(model::Segment& segment);
  void take_segments(std::vector<model::Segment>& segments, const Value& value);
  void take_traces(const Value& value);
  void take_trace(std::vector<model::TraceEntry>& trace, const Value& value);
  void take_annotations(const Value& value);
  void take_settings(const Value& value);
  void take_lists_without_root();

  // Each counts what is of another type, under the name of the field.
  std::int64_t integer(const Value& value, std::string_view field);
  std::int64_t size(const Value& value, std::string_view field);  // bytes: none is below zero
  std::uint64_t address(const Value& value, std::string_view field);
  model::StringId string(const Value& value, std::string_view field);
  model::PoolId pool(const Value& value, std::string_view field);
  model::StackId stack(const Value& value, std::string_view field);
  void leave_out_ours();
  model::StringId string_id(std::uint32_t pooled);
  model::ContextId context_id(const model::TraceContext& context);

  void count_unread(std::string name, model::LossSeverity weight);
  void keep_unknown(std::string_view record, const Value& key, const Value& value);
  std::string derive_release() const;

  pickle::Strings* strings_ = nullptr;
  pickle::Heap* heap_ = nullptr;
  model::Snapshot snapshot_;

  std::vector<model::TraceAction> actions_;  // by pool id, for the words that are actions
  std::vector<model::BlockState> states_;    // likewise
  std::uint64_t seen_words_ = 0;             // keys that were there at all: they tell the release
  bool has_root_ = false;

  Waiting<model::Block> blocks_;
  Waiting<model::TraceEntry> entries_;
  Waiting<model::Segment> segments_;
  Waiting<model::HistoryEntry> history_;
  Waiting<model::Annotation> annotations_;
  std::vector<std::vector<model::Block>> block_lists_;
  std::vector<std::vector<model::TraceEntry>> entry_lists_;
  std::vector<std::vector<model::Segment>> segment_lists_;
  std::vector<std::vector<model::Annotation>> annotation_lists_;
  std::size_t entry_bytes_ = 0;

  std::vector<Pair> pairs_;
  std::vector<std::uint32_t> string_ids_;  // pool id -> StringId + 1; 0: not in the snapshot yet
  std::vector<model::FrameId> frame_scratch_;
  std::vector<bool> is_our_frame_;  // by FrameId
  IdTable pair_table_, frame_table_, stack_table_, context_table_;
  std::unordered_map<std::uint64_t, model::UnknownField*> unknown_;  // record and key -> its place in snapshot_
};

}  // namespace vramfit::ingest::snapshot

#endif
