#include "ingest/snapshot/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingest/pickle/json.h"
#include "ingest/pickle/numbers.h"

namespace vramfit::ingest::snapshot {

using model::OddWeight;
using pickle::Kind;
using pickle::make_folded;
using pickle::Object;
using pickle::ObjectKind;
using pickle::Value;

namespace {

constexpr std::uint64_t bit(Word word) { return std::uint64_t{1} << word; }

// So many unlike values of an unknown field are kept, and looked for among so many.
constexpr std::size_t kExamples = 3;
constexpr std::int64_t kLooked = 16;

}  // namespace

void Builder::attach(pickle::Strings& strings, pickle::Heap& heap) {
  strings_ = &strings;
  heap_ = &heap;
  for (const std::string_view word : kWords) strings.intern(word);
  const auto intern_names = [&](auto& by_id, auto last, auto name) {
    for (int i = 0; i < static_cast<int>(last); ++i) {
      const auto value = static_cast<decltype(last)>(i);
      const std::uint32_t id = strings.intern(name(value));
      by_id.resize(std::max<std::size_t>(by_id.size(), id + 1), last);
      by_id[id] = value;
    }
  };
  intern_names(actions_, model::TraceAction::kUnknown, model::trace_action_name);
  intern_names(states_, model::BlockState::kUnknown, model::block_state_name);
}

std::size_t Builder::memory_bytes() const {
  return blocks_.memory_bytes() + entries_.memory_bytes() + segments_.memory_bytes() + entry_bytes_ +
         pairs_.capacity() * sizeof(Pair) + string_ids_.capacity() * sizeof(std::uint32_t) +
         snapshot_.frames.capacity() * sizeof(model::Frame) +
         snapshot_.stack_frames.capacity() * sizeof(model::FrameId) +
         snapshot_.stack_starts.capacity() * sizeof(std::uint32_t) +
         snapshot_.contexts.capacity() * sizeof(model::TraceContext) + pair_table_.memory_bytes() +
         frame_table_.memory_bytes() + stack_table_.memory_bytes() + context_table_.memory_bytes();
}

void Builder::count_odd(std::string name, OddWeight weight) {
  model::OddInput& odd = snapshot_.odd[std::move(name)];
  odd.weight = weight;
  ++odd.count;
}

void Builder::keep_unknown(std::string_view record, const Value& key, const Value& value) {
  // Records are told apart by where their name lies: the names are literals.
  const std::uint64_t where = reinterpret_cast<std::uintptr_t>(record.data()) * 0x9e3779b97f4a7c15u ^ key.bits;
  model::UnknownField*& field = unknown_[where];
  if (field == nullptr) {
    const std::string name = key.kind == Kind::kString ? std::string(strings_->text(key.text()).substr(0, 200))
                                                       : pickle::to_json(key, *strings_, *heap_, 200);
    field = &snapshot_.unknown[fmt::format("{}.{}", record, name)];
  }
  if (++field->count > kLooked || field->examples.size() >= kExamples) return;
  std::string text = pickle::to_json(value, *strings_, *heap_);
  if (std::ranges::find(field->examples, text) == field->examples.end()) field->examples.push_back(std::move(text));
}

// ---- values of fields ------------------------------------------------------------------------------------------

std::int64_t Builder::integer(const Value& value, std::string_view field) {
  if (value.kind == Kind::kInt) return value.number();
  if (value.kind == Kind::kBool) return static_cast<std::int64_t>(value.bits);
  count_odd(fmt::format("{} is no 64-bit integer", field), OddWeight::kWrongAnswerPossible);
  return 0;
}

std::uint64_t Builder::address(const Value& value, std::string_view field) {
  if (value.kind == Kind::kBigInt) {
    if (const auto number = pickle::narrow_unsigned(strings_->text(value.text()))) return *number;
  }
  return static_cast<std::uint64_t>(integer(value, field));
}

model::StringId Builder::string_id(std::uint32_t pooled) {
  if (pooled >= string_ids_.size()) string_ids_.resize(std::max<std::size_t>(pooled + 1, string_ids_.size() * 3 / 2));
  if (string_ids_[pooled] == 0) {
    string_ids_[pooled] = static_cast<std::uint32_t>(snapshot_.add_string(strings_->text(pooled))) + 1;
  }
  return static_cast<model::StringId>(string_ids_[pooled] - 1);
}

model::StringId Builder::string(const Value& value, std::string_view field) {
  if (value.kind == Kind::kString || value.kind == Kind::kBytes) return string_id(value.text());
  if (value.kind != Kind::kNone) count_odd(fmt::format("{} is no text", field), OddWeight::kDataLost);
  return model::StringId::kEmpty;
}

model::PoolId Builder::pool(const Value& value, std::string_view field) {
  if (value.kind == Kind::kFolded && value.tag == kPair) return {pairs_[value.bits].first, pairs_[value.bits].second};
  count_odd(fmt::format("{} is no pair of integers", field), OddWeight::kWrongAnswerPossible);
  return {};
}

model::StackId Builder::stack(const Value& value, std::string_view field) {
  if (value.kind == Kind::kFolded && value.tag == kStack) return static_cast<model::StackId>(value.bits);
  const Object* list = heap_->find(value);
  if (list == nullptr || (list->kind != ObjectKind::kList && list->kind != ObjectKind::kTuple)) {
    if (value.kind != Kind::kNone) count_odd(fmt::format("{} is no list", field), OddWeight::kDataLost);
    return model::StackId::kNone;
  }
  if (list->items.empty()) return model::StackId::kNone;
  frame_scratch_.clear();
  for (const Value& item : list->items) {
    const Value frame = heap_->resolve(item);
    if (frame.kind == Kind::kFolded && frame.tag == kFrame) {
      frame_scratch_.push_back(static_cast<model::FrameId>(frame.bits));
    } else {
      count_odd("something in a stack is no frame", OddWeight::kDataLost);
    }
  }
  const std::span<const model::FrameId> frames = frame_scratch_;
  const std::uint32_t id = stack_table_.find_or_add(
      hash_words(frames),
      [&](std::uint32_t other) {
        return std::ranges::equal(snapshot_.stack(static_cast<model::StackId>(other)), frames);
      },
      [&] { return static_cast<std::uint32_t>(snapshot_.add_stack(frames)); });
  heap_->replace(value.slot(), make_folded(kStack, id));
  return static_cast<model::StackId>(id);
}

model::ContextId Builder::context_id(const model::TraceContext& context) {
  if (context == snapshot_.contexts.front()) return model::ContextId::kNone;
  if (context == snapshot_.contexts.back()) return static_cast<model::ContextId>(snapshot_.contexts.size() - 1);
  const std::uint64_t words[] = {static_cast<std::uint64_t>(context.compile_context),
                                 static_cast<std::uint64_t>(context.user_metadata),
                                 static_cast<std::uint64_t>(context.internal_metadata),
                                 static_cast<std::uint64_t>(context.pool ? context.pool->first : -1),
                                 static_cast<std::uint64_t>(context.pool ? context.pool->second : -1)};
  return static_cast<model::ContextId>(context_table_.find_or_add(
      hash_words(std::span<const std::uint64_t>(words)),
      [&](std::uint32_t other) { return snapshot_.contexts[other] == context; },
      [&] {
        snapshot_.contexts.push_back(context);
        return static_cast<std::uint32_t>(snapshot_.contexts.size() - 1);
      }));
}

// ---- dicts -----------------------------------------------------------------------------------------------------

std::optional<Value> Builder::fold_dict(std::span<const Value> items, bool is_cut) {
  std::uint64_t words = 0;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    if (items[i].kind == Kind::kString && items[i].text() < kWordCount) words |= std::uint64_t{1} << items[i].text();
  }
  const auto has = [&](std::uint64_t all) { return (words & all) == all; };
  // Before everything else: a cut dict is at best a snapshot, a whole one of these keys surely is.
  const bool is_root = (words & (bit(kSegments) | bit(kDeviceTraces))) != 0 && looks_like_root(items);
  if (is_cut && !is_root) return std::nullopt;
  const auto remember = [&](const Value& folded) {
    seen_words_ |= words;
    return folded;
  };
  if (has(bit(kAction) | bit(kSize))) return remember(fold_entry(items));
  if (has(bit(kFilename) | bit(kLine))) return fold_frame(items);
  if (has(bit(kTotalSize) | bit(kBlocks))) return remember(fold_segment(items));
  if (has(bit(kState) | bit(kSize))) return remember(fold_block(items));
  if (has(bit(kRealSize))) return fold_history(items);
  if (has(bit(kStage) | bit(kTimeUs))) return fold_annotation(items);
  if (is_root) return remember(fold_root(items));
  return std::nullopt;
}

// Other people's dicts have "segments" too: here they are lists of segments, or empty.
bool Builder::looks_like_root(std::span<const Value> items) const {
  const auto is_list_of = [&](const Value& value, Tag tag) {
    if (value.kind == Kind::kFolded) return value.tag == tag;
    const Object* list = heap_->find(value);
    return list != nullptr && list->kind == ObjectKind::kList && list->items.empty();
  };
  for (std::size_t i = 0; i < items.size(); i += 2) {
    if (items[i].kind != Kind::kString) continue;
    if (items[i].text() == kSegments) return is_list_of(items[i + 1], kSegmentList);
    if (items[i].text() != kDeviceTraces) continue;
    const Object* traces = heap_->find(items[i + 1]);
    if (traces == nullptr) return is_list_of(items[i + 1], kEntryList);
    return std::ranges::all_of(traces->items,
                               [&](const Value& trace) { return is_list_of(heap_->resolve(trace), kEntryList); });
  }
  return false;
}

Value Builder::fold_frame(std::span<const Value> items) {
  model::Frame frame;
  model::FxNode fx;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const Value& value = items[i + 1];
    switch (items[i].kind == Kind::kString ? items[i].text() : kWordCount) {
      case kFilename:
        frame.file = string(value, "frame.filename");
        break;
      case kName:
        frame.function = string(value, "frame.name");
        break;
      case kLine:
        frame.line =
            static_cast<std::int32_t>(std::clamp<std::int64_t>(integer(value, "frame.line"), INT32_MIN, INT32_MAX));
        break;
      case kFxNodeOp:
        fx.op = string(value, "frame.fx_node_op");
        break;
      case kFxNodeName:
        fx.name = string(value, "frame.fx_node_name");
        break;
      case kFxOriginalTrace:
        fx.original_trace = string(value, "frame.fx_original_trace");
        break;
      default:
        keep_unknown("frame", items[i], value);
    }
  }
  const std::uint64_t words[] = {static_cast<std::uint64_t>(frame.file), static_cast<std::uint64_t>(frame.function),
                                 static_cast<std::uint64_t>(frame.line), static_cast<std::uint64_t>(fx.name)};
  const std::uint32_t id = frame_table_.find_or_add(
      hash_words(std::span<const std::uint64_t>(words)),
      [&](std::uint32_t other) {
        const auto node = snapshot_.fx_nodes.find(static_cast<model::FrameId>(other));
        return snapshot_.frames[other] == frame &&
               (node == snapshot_.fx_nodes.end() ? model::FxNode{} : node->second) == fx;
      },
      [&] {
        snapshot_.frames.push_back(frame);
        return static_cast<std::uint32_t>(snapshot_.frames.size() - 1);
      });
  if (fx != model::FxNode{}) snapshot_.fx_nodes[static_cast<model::FrameId>(id)] = fx;
  return make_folded(kFrame, id);
}

void Builder::set_block_field(model::Block& block, const Value& key, const Value& value) {
  switch (key.kind == Kind::kString ? key.text() : kWordCount) {
    case kAddress:
      block.address = address(value, "block.address");
      break;
    case kSize:
      block.size = integer(value, "block.size");
      break;
    case kRequestedSize:
      block.requested_size = integer(value, "block.requested_size");
      break;
    case kState: {
      const auto word = value.kind == Kind::kString ? strings_->text(value.text()) : std::string_view();
      block.state = value.kind == Kind::kString && value.text() < states_.size() ? states_[value.text()]
                                                                                 : model::parse_block_state(word);
      if (block.state == model::BlockState::kUnknown) {
        count_odd(fmt::format("block state {}", pickle::quote_json(word.substr(0, 100))),
                  OddWeight::kWrongAnswerPossible);
      }
      break;
    }
    case kFrames:
      block.stack = stack(value, "block.frames");
      break;
    case kHistory:
      if (value.kind == Kind::kFolded && value.tag == kHistoryList) {
        block.history = static_cast<std::uint32_t>(value.bits);
        const model::HistoryEntry& newest = snapshot_.histories[block.history - 1].front();
        block.requested_size = newest.real_size;
        block.stack = newest.stack;
      }
      break;
    default:
      keep_unknown("block", key, value);
  }
}

Value Builder::fold_block(std::span<const Value> items) {
  model::Block block;
  for (std::size_t i = 0; i < items.size(); i += 2) set_block_field(block, items[i], items[i + 1]);
  return make_folded(kBlock, blocks_.add(block));
}

Value Builder::fold_history(std::span<const Value> items) {
  model::HistoryEntry entry;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const Value& value = items[i + 1];
    switch (items[i].kind == Kind::kString ? items[i].text() : kWordCount) {
      case kAddr:
        entry.address = address(value, "history.addr");
        break;
      case kRealSize:
        entry.real_size = integer(value, "history.real_size");
        break;
      case kFrames:
        entry.stack = stack(value, "history.frames");
        break;
      default:
        keep_unknown("history", items[i], value);
    }
  }
  return make_folded(kHistoryEntry, history_.add(entry));
}

void Builder::set_entry_field(model::TraceEntry& entry, model::TraceContext& context, const Value& key,
                              const Value& value) {
  switch (key.kind == Kind::kString ? key.text() : kWordCount) {
    case kAction: {
      const auto word = value.kind == Kind::kString ? strings_->text(value.text()) : std::string_view();
      entry.action = value.kind == Kind::kString && value.text() < actions_.size() ? actions_[value.text()]
                                                                                   : model::TraceAction::kUnknown;
      if (entry.action == model::TraceAction::kUnknown) {
        count_odd(fmt::format("trace action {}", pickle::quote_json(word.substr(0, 100))),
                  OddWeight::kWrongAnswerPossible);
      }
      break;
    }
    case kAddr:
      entry.addr = address(value, "trace.addr");
      break;
    case kDeviceFree:
      entry.addr = address(value, "trace.device_free");
      break;
    case kSize:
      entry.size = integer(value, "trace.size");
      break;
    case kStream:
      entry.stream = integer(value, "trace.stream");
      break;
    case kTimeUs:
      entry.time_us = integer(value, "trace.time_us");
      break;
    case kFrames:
      entry.stack = stack(value, "trace.frames");
      break;
    case kCompileContext:
      context.compile_context = string(value, "trace.compile_context");
      break;
    case kUserMetadata:
      context.user_metadata = string(value, "trace.user_metadata");
      break;
    case kInternalMetadata:
      context.internal_metadata = string(value, "trace.internal_metadata");
      break;
    case kPoolId:
      context.pool = pool(value, "trace.pool_id");
      break;
    default:
      keep_unknown("trace", key, value);
  }
}

Value Builder::fold_entry(std::span<const Value> items) {
  model::TraceEntry entry;
  model::TraceContext context;
  for (std::size_t i = 0; i < items.size(); i += 2) set_entry_field(entry, context, items[i], items[i + 1]);
  entry.context = context_id(context);
  return make_folded(kEntry, entries_.add(entry));
}

void Builder::set_segment_field(model::Segment& segment, const Value& key, const Value& value) {
  switch (key.kind == Kind::kString ? key.text() : kWordCount) {
    case kDevice:
      segment.device = static_cast<int>(std::clamp<std::int64_t>(integer(value, "segment.device"), -1, 1 << 20));
      break;
    case kAddress:
      segment.address = address(value, "segment.address");
      break;
    case kTotalSize:
      segment.total_size = integer(value, "segment.total_size");
      break;
    case kAllocatedSize:
      segment.allocated_size = integer(value, "segment.allocated_size");
      break;
    case kActiveSize:
      segment.active_size = integer(value, "segment.active_size");
      break;
    case kRequestedSize:
      segment.requested_size = integer(value, "segment.requested_size");
      break;
    case kStream:
      segment.stream = integer(value, "segment.stream");
      break;
    case kSegmentType:
      segment.is_large = value.kind == Kind::kString && strings_->text(value.text()) == "large";
      break;
    case kSegmentPoolId:
      segment.pool = pool(value, "segment.segment_pool_id");
      break;
    case kIsExpandable:
      segment.is_expandable = integer(value, "segment.is_expandable") != 0;
      break;
    case kFrames:
      segment.stack = stack(value, "segment.frames");
      break;
    case kBlocks:
      if (value.kind == Kind::kFolded && value.tag == kBlockList) {
        segment.blocks = block_lists_[value.bits];
        if (value.bits + 1 == block_lists_.size()) block_lists_.back().clear();
      } else if (const Object* list = heap_->find(value); list == nullptr || !list->items.empty()) {
        count_odd("segment.blocks is no list of blocks", OddWeight::kDataLost);
      }
      break;
    default:
      keep_unknown("segment", key, value);
  }
}

// Files of 2.0 give no addresses: blocks tile their segment.
void Builder::complete_blocks(model::Segment& segment) {
  std::uint64_t next = segment.address;
  for (model::Block& block : segment.blocks) {
    if (block.address == 0) block.address = next;
    next = block.address + static_cast<std::uint64_t>(block.size);
  }
}

Value Builder::fold_segment(std::span<const Value> items) {
  model::Segment segment;
  for (std::size_t i = 0; i < items.size(); i += 2) set_segment_field(segment, items[i], items[i + 1]);
  complete_blocks(segment);
  return make_folded(kSegment, segments_.add(std::move(segment)));
}

Value Builder::fold_annotation(std::span<const Value> items) {
  model::Annotation annotation;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const Value& value = items[i + 1];
    switch (items[i].kind == Kind::kString ? items[i].text() : kWordCount) {
      case kName:
        annotation.name = string(value, "annotation.name");
        break;
      case kStage:
        annotation.is_start = value.kind == Kind::kString && strings_->text(value.text()) == "START";
        break;
      case kDevice:
        annotation.device =
            static_cast<int>(std::clamp<std::int64_t>(integer(value, "annotation.device"), -1, 1 << 20));
        break;
      case kTimeUs:
        annotation.time_us = integer(value, "annotation.time_us");
        break;
      default:
        keep_unknown("annotation", items[i], value);
    }
  }
  return make_folded(kAnnotation, annotations_.add(annotation));
}

bool Builder::add_to_dict(const Value& folded, const Value& key, const Value& value) {
  // Dicts of more than a thousand items, or written by something that is not Python.
  if (folded.tag == kEntry) {
    if (model::TraceEntry* entry = entries_.find(folded.bits)) {
      model::TraceContext context = snapshot_.context(entry->context);
      set_entry_field(*entry, context, key, value);
      entry->context = context_id(context);
      return true;
    }
  } else if (folded.tag == kBlock) {
    if (model::Block* block = blocks_.find(folded.bits)) {
      set_block_field(*block, key, value);
      return true;
    }
  } else if (folded.tag == kSegment) {
    if (model::Segment* segment = segments_.find(folded.bits)) {
      set_segment_field(*segment, key, value);
      complete_blocks(*segment);
      return true;
    }
  } else if (folded.tag == kRoot) {
    const Value items[] = {key, value};
    has_root_ = false;
    fold_root(items);
    return true;
  }
  count_odd("an item came for a dict that was complete", OddWeight::kDataLost);
  return false;
}

// ---- tuples and lists ------------------------------------------------------------------------------------------

std::optional<Value> Builder::fold_tuple(std::span<const Value> items) {
  if (items.size() != 2 || items[0].kind != Kind::kInt || items[1].kind != Kind::kInt) return std::nullopt;
  const Pair pair{items[0].number(), items[1].number()};
  const std::uint64_t words[] = {items[0].bits, items[1].bits};
  const std::uint32_t id = pair_table_.find_or_add(
      hash_words(std::span<const std::uint64_t>(words)),
      [&](std::uint32_t other) { return pairs_[other].first == pair.first && pairs_[other].second == pair.second; },
      [&] {
        pairs_.push_back(pair);
        return static_cast<std::uint32_t>(pairs_.size() - 1);
      });
  return make_folded(kPair, id);
}

std::optional<Value> Builder::begin_list(const Value& first) {
  const auto open = [](auto& lists, Tag tag) {
    // A list whose content went into its segment is used again.
    if (lists.empty() || !lists.back().empty()) lists.emplace_back();
    return make_folded(tag, lists.size() - 1);
  };
  switch (first.tag) {
    case kBlock:
      return open(block_lists_, kBlockList);
    case kEntry:
      return open(entry_lists_, kEntryList);
    case kSegment:
      return open(segment_lists_, kSegmentList);
    case kAnnotation:
      return open(annotation_lists_, kAnnotationList);
    case kHistoryEntry:
      snapshot_.histories.emplace_back();
      return make_folded(kHistoryList, snapshot_.histories.size());
    default:
      return std::nullopt;
  }
}

bool Builder::add_to_list(const Value& folded, const Value& item) {
  const auto take = [&](auto& waiting, Tag tag, auto& list) {
    if (item.kind != Kind::kFolded || item.tag != tag) return false;
    const auto* record = waiting.take(item.bits);
    if (record == nullptr) return false;
    list.push_back(*record);
    waiting.forget_taken();
    return true;
  };
  bool taken = false;
  switch (folded.tag) {
    case kBlockList:
      taken = take(blocks_, kBlock, block_lists_[folded.bits]);
      break;
    case kEntryList: {
      auto& list = entry_lists_[folded.bits];
      const std::size_t before = list.capacity();
      taken = take(entries_, kEntry, list);
      entry_bytes_ += (list.capacity() - before) * sizeof(model::TraceEntry);
      break;
    }
    case kSegmentList:
      taken = take(segments_, kSegment, segment_lists_[folded.bits]);
      break;
    case kHistoryList:
      taken = take(history_, kHistoryEntry, snapshot_.histories[folded.bits - 1]);
      break;
    case kAnnotationList:
      taken = take(annotations_, kAnnotation, annotation_lists_[folded.bits]);
      break;
    default:
      break;
  }
  if (!taken) count_odd("an item of a list is of another kind than the first, or not whole", OddWeight::kDataLost);
  return taken;
}

}  // namespace vramfit::ingest::snapshot
