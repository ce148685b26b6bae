#include "ingest/snapshot/builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingest/pickle/json.h"
#include "ingest/pickle/numbers.h"
#include "model/snapshot_line.h"

namespace vramfit::ingest::snapshot {

using model::LossSeverity;
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

void Builder::count_unread(std::string name, LossSeverity weight) {
  model::UnreadInput& unread = snapshot_.unread[std::move(name)];
  unread.weight = weight;
  ++unread.count;
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
  count_unread(fmt::format("{} is no 64-bit integer", field), LossSeverity::kWrongAnswerPossible);
  return 0;
}

std::int64_t Builder::size(const Value& value, std::string_view field) {
  const std::int64_t bytes = integer(value, field);
  if (bytes >= 0) return bytes;
  count_unread(fmt::format("{} is below zero", field), LossSeverity::kWrongAnswerPossible);
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
  if (value.kind != Kind::kNone) count_unread(fmt::format("{} is no text", field), LossSeverity::kDataLost);
  return model::StringId::kEmpty;
}

model::PoolId Builder::pool(const Value& value, std::string_view field) {
  if (value.kind == Kind::kFolded && value.tag == kPair) return {pairs_[value.bits].first, pairs_[value.bits].second};
  count_unread(fmt::format("{} is no pair of integers", field), LossSeverity::kWrongAnswerPossible);
  return {};
}

model::StackId Builder::stack(const Value& value, std::string_view field) {
  if (value.kind == Kind::kFolded && value.tag == kStack) return static_cast<model::StackId>(value.bits);
  const Object* list = heap_->find(value);
  if (list == nullptr || (list->kind != ObjectKind::kList && list->kind != ObjectKind::kTuple)) {
    if (value.kind != Kind::kNone) count_unread(fmt::format("{} is no list", field), LossSeverity::kDataLost);
    return model::StackId::kNone;
  }
  if (list->items.empty()) return model::StackId::kNone;
  frame_scratch_.clear();
  for (const Value& item : list->items) {
    const Value frame = heap_->resolve(item);
    if (frame.kind == Kind::kFolded && frame.tag == kFrame) {
      frame_scratch_.push_back(static_cast<model::FrameId>(frame.bits));
    } else {
      count_unread("something in a stack is no frame", LossSeverity::kDataLost);
    }
  }
  leave_out_ours();
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

// Our hooks stand around functions of PyTorch: no reader of a stack is to take them for the job's own lines, or two
// stacks for different ones.
void Builder::leave_out_ours() {
  for (std::size_t frame = is_our_frame_.size(); frame < snapshot_.frames.size(); ++frame) {
    is_our_frame_.push_back(model::is_of_vramfit(snapshot_.text(snapshot_.frames[frame].file)));
  }
  const auto is_ours = [&](model::FrameId id) { return is_our_frame_[static_cast<std::size_t>(id)]; };
  if (!std::ranges::all_of(frame_scratch_, is_ours)) std::erase_if(frame_scratch_, is_ours);
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
  count_unread("an item came for a dict that was complete", LossSeverity::kDataLost);
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
  if (!taken)
    count_unread("an item of a list is of another kind than the first, or not whole", LossSeverity::kDataLost);
  return taken;
}

}  // namespace vramfit::ingest::snapshot
