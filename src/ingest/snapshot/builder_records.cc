// The records of a snapshot: what each kind of dict becomes, field by field.
#include <fmt/format.h>

#include <algorithm>

#include "ingest/pickle/json.h"
#include "ingest/pickle/numbers.h"
#include "ingest/snapshot/builder.h"

namespace vramfit::ingest::snapshot {

using model::LossSeverity;
using pickle::Kind;
using pickle::make_folded;
using pickle::Object;
using pickle::Value;

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
      block.size = size(value, "block.size");
      break;
    case kRequestedSize:
      block.requested_size = size(value, "block.requested_size");
      break;
    case kState: {
      const auto word = value.kind == Kind::kString ? strings_->text(value.text()) : std::string_view();
      block.state = value.kind == Kind::kString && value.text() < states_.size() ? states_[value.text()]
                                                                                 : model::parse_block_state(word);
      if (block.state == model::BlockState::kUnknown) {
        count_unread(fmt::format("block state {}", pickle::quote_json(word.substr(0, 100))),
                     LossSeverity::kWrongAnswerPossible);
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
        entry.real_size = size(value, "history.real_size");
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
        count_unread(fmt::format("trace action {}", pickle::quote_json(word.substr(0, 100))),
                     LossSeverity::kWrongAnswerPossible);
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
      entry.size = size(value, "trace.size");
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
      segment.total_size = size(value, "segment.total_size");
      break;
    case kAllocatedSize:
      segment.allocated_size = size(value, "segment.allocated_size");
      break;
    case kActiveSize:
      segment.active_size = size(value, "segment.active_size");
      break;
    case kRequestedSize:
      segment.requested_size = size(value, "segment.requested_size");
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
        count_unread("segment.blocks is no list of blocks", LossSeverity::kDataLost);
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

}  // namespace vramfit::ingest::snapshot
