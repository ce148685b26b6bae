// Small recordings by hand, an entry a microsecond; addresses count from kBase.
#ifndef VRAMFIT_VIEWS_TRACE_TESTING_SNAPSHOTS_H
#define VRAMFIT_VIEWS_TRACE_TESTING_SNAPSHOTS_H

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "model/snapshot.h"

namespace vramfit::views::report_trace::testing {

inline constexpr std::int64_t kMib = 1 << 20;
inline constexpr std::uint64_t kBase = 0x7f0000000000;

struct Recording {
  model::Snapshot snapshot;

  Recording() { snapshot.traces.resize(1); }

  model::TraceEntry& entry(model::TraceAction action, std::int64_t offset, std::int64_t size,
                           std::string_view metadata = {}) {
    auto& trace = snapshot.traces[0];
    model::TraceEntry entry;
    entry.action = action;
    entry.addr = action == model::TraceAction::kOom ? 0 : kBase + static_cast<std::uint64_t>(offset);
    entry.size = size;
    entry.time_us = static_cast<std::int64_t>(trace.size()) + 1;
    if (!metadata.empty()) {
      model::TraceContext context;
      context.user_metadata = snapshot.add_string(metadata);
      entry.context = static_cast<model::ContextId>(snapshot.contexts.size());
      snapshot.contexts.push_back(context);
    }
    return trace.emplace_back(entry);
  }

  void annotate(std::string_view name, bool is_start, std::int64_t time_us) {
    model::StringId id = model::StringId::kEmpty;
    for (const model::Annotation& known : snapshot.annotations) {
      if (snapshot.text(known.name) == name) id = known.name;
    }
    if (id == model::StringId::kEmpty) id = snapshot.add_string(name);
    snapshot.annotations.push_back({id, is_start, 0, time_us});
  }

  // `blocks`: offset and size of those in use, in order.
  void segment(std::int64_t offset, std::int64_t size, const std::vector<std::pair<std::int64_t, std::int64_t>>& blocks,
               bool is_expandable = false) {
    model::Segment segment;
    segment.address = kBase + static_cast<std::uint64_t>(offset);
    segment.total_size = size;
    segment.is_large = true;
    segment.is_expandable = is_expandable;
    for (const auto& [at, length] : blocks) {
      model::Block block;
      block.address = kBase + static_cast<std::uint64_t>(at);
      block.size = block.requested_size = length;
      block.state = model::BlockState::kActiveAllocated;
      segment.blocks.push_back(block);
    }
    snapshot.segments.push_back(std::move(segment));
  }
};

}  // namespace vramfit::views::report_trace::testing

#endif
