// The outermost dict of a snapshot, and what is done when there is none.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ingest/pickle/json.h"
#include "ingest/pickle/numbers.h"
#include "ingest/snapshot/builder.h"

namespace vramfit::ingest::snapshot {

using model::LossSeverity;
using pickle::Kind;
using pickle::make_folded;
using pickle::Object;
using pickle::Value;

namespace {

// PyTorch writes "no limit" as the largest size_t, which some releases turn into -1.
std::optional<std::int64_t> limit_of(std::int64_t value) {
  if (value < 0) return std::nullopt;
  return value;
}

}  // namespace

Value Builder::fold_root(std::span<const Value> items) {
  if (has_root_) {
    count_unread("another snapshot in the same file", LossSeverity::kDataLost);
    return make_folded(kRoot, 1);
  }
  has_root_ = true;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    const Value& value = items[i + 1];
    switch (items[i].kind == Kind::kString ? items[i].text() : kWordCount) {
      case kSegments:
        take_segments(snapshot_.segments, value);
        break;
      case kDeviceTraces:
        take_traces(value);
        break;
      case kAllocatorSettings:
        take_settings(value);
        break;
      case kExternalAnnotations:
        take_annotations(value);
        break;
      case kHostSegments:
        take_segments(snapshot_.host_segments, value);
        break;
      case kHostTraces:
        take_trace(snapshot_.host_trace, value);
        break;
      default:
        keep_unknown("snapshot", items[i], value);
    }
  }
  return make_folded(kRoot, 0);
}

void Builder::take_segments(std::vector<model::Segment>& segments, const Value& value) {
  if (value.kind == Kind::kFolded && value.tag == kSegmentList) {
    segments = std::move(segment_lists_[value.bits]);
  } else if (const Object* list = heap_->find(value); list == nullptr || !list->items.empty()) {
    count_unread("the segments are no list of segments", LossSeverity::kDataLost);
  }
}

void Builder::take_trace(std::vector<model::TraceEntry>& trace, const Value& value) {
  const Value list = heap_->resolve(value);
  if (list.kind == Kind::kFolded && list.tag == kEntryList) {
    trace = std::move(entry_lists_[list.bits]);
  } else if (const Object* object = heap_->find(list); object == nullptr || !object->items.empty()) {
    count_unread("a trace is no list of trace entries", LossSeverity::kDataLost);
  }
}

void Builder::take_traces(const Value& value) {
  const Object* list = heap_->find(value);
  if (list == nullptr) {
    // One device's entries without the list around them.
    take_trace(snapshot_.traces.emplace_back(), value);
    return;
  }
  for (const Value& trace : list->items) take_trace(snapshot_.traces.emplace_back(), trace);
}

void Builder::take_annotations(const Value& value) {
  if (value.kind == Kind::kFolded && value.tag == kAnnotationList) {
    snapshot_.annotations = std::move(annotation_lists_[value.bits]);
  } else if (const Object* list = heap_->find(value); list == nullptr || !list->items.empty()) {
    count_unread("the annotations are no list of annotations", LossSeverity::kDataLost);
  }
}

void Builder::take_settings(const Value& value) {
  const Object* dict = heap_->find(value);
  if (dict == nullptr || dict->kind != pickle::ObjectKind::kDict) {
    count_unread("the allocator's settings are no dict", LossSeverity::kDataLost);
    return;
  }
  model::AllocatorSettings settings;
  for (std::size_t i = 0; i + 1 < dict->items.size(); i += 2) {
    const Value& key = dict->items[i];
    const Value item = heap_->resolve(dict->items[i + 1]);
    if (key.kind != Kind::kString) continue;
    const std::string name(strings_->text(key.text()));
    settings.raw[name] = pickle::to_json(item, *strings_, *heap_);
    const std::int64_t number = item.kind == Kind::kInt || item.kind == Kind::kBool ? item.number() : -1;
    if (name == "PYTORCH_CUDA_ALLOC_CONF" || name == "PYTORCH_ALLOC_CONF") {
      if (item.kind == Kind::kString) settings.conf = strings_->text(item.text());
    } else if (name == "max_split_size") {
      settings.max_split_size = limit_of(number);
    } else if (name == "max_round_threshold") {
      settings.max_round_threshold = limit_of(number);
    } else if (name == "max_cached_size") {
      settings.max_cached_size = limit_of(number);
    } else if (name == "garbage_collection_threshold") {
      settings.garbage_collection_threshold = item.kind == Kind::kFloat ? item.real() : static_cast<double>(number);
    } else if (name == "expandable_segments") {
      settings.expandable_segments = number == 1;
    } else if (name == "release_lock_on_cudamalloc") {
      settings.release_lock_on_cudamalloc = number == 1;
    } else if (name == "pinned_use_cuda_host_register") {
      settings.pinned_use_cuda_host_register = number == 1;
    } else if (name == "graph_capture_record_stream_reuse") {
      settings.graph_capture_record_stream_reuse = number == 1;
    } else if (name == "pinned_num_register_threads") {
      settings.pinned_num_register_threads = number;
    } else if (const Object* divisions = heap_->find(item);
               name == "roundup_power2_divisions" && divisions != nullptr) {
      for (std::size_t cell = 0; cell + 1 < divisions->items.size(); cell += 2) {
        const Value& mib = divisions->items[cell];
        const Value& count = divisions->items[cell + 1];
        if (mib.kind != Kind::kString || count.kind != Kind::kInt) continue;
        const std::string_view digits = strings_->text(mib.text());
        std::int64_t size = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), size);
        settings.roundup_power2_divisions[size] = count.number();
      }
    }
  }
  snapshot_.settings = std::move(settings);
}

void Builder::take_lists_without_root() {
  for (auto& list : segment_lists_) std::ranges::move(list, std::back_inserter(snapshot_.segments));
  for (auto& list : entry_lists_) snapshot_.traces.push_back(std::move(list));
}

// Fields that are in every file of a release and in none of an earlier one: as recorded in fixtures/snapshots, between
// which there are gaps. Before 2.5, as in PyTorch's source.
std::string Builder::derive_release() const {
  const auto seen = [&](Word word) { return (seen_words_ >> word & 1) != 0; };
  if (seen(kHostSegments)) return "2.14";
  if (seen(kPoolId)) return "2.12";
  if (seen(kUserMetadata)) return "2.10";
  if (snapshot_.settings && snapshot_.settings->raw.contains("graph_capture_record_stream_reuse")) return "2.9";
  if (seen(kCompileContext)) return "2.7";
  if (seen(kExternalAnnotations)) return "2.5";
  if (seen(kAllocatorSettings)) return "2.2";
  if (seen(kTimeUs) || seen(kIsExpandable) || (seen(kRequestedSize) && !seen(kHistory))) return "2.1";
  return "2.0";
}

bool Builder::finish(const Value& result, bool is_cut) {
  snapshot_.torch_at_least = derive_release();
  if (has_root_) return true;
  // torch.cuda.memory_snapshot() is the list of segments alone.
  if (result.kind == Kind::kFolded && result.tag == kSegmentList) {
    take_segments(snapshot_.segments, result);
    return true;
  }
  if (!is_cut) return false;
  take_lists_without_root();
  return !snapshot_.segments.empty() || !snapshot_.traces.empty();
}

}  // namespace vramfit::ingest::snapshot
