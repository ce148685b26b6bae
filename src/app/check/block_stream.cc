#include "app/check/block_stream.h"

#include <unordered_map>

namespace vramfit::app {

namespace {

using compare::EventStream;
using model::TraceAction;

class BlockStreamBuilder {
 public:
  BlockStreamBuilder() {
    stream_.sizes_rounded = true;
    stream_.begin = {0, std::nullopt, std::nullopt};
  }

  void add(std::int64_t size, std::uint64_t address, std::optional<std::int64_t> allocated,
           std::optional<std::int64_t> reserved, std::string_view line, bool is_workspace) {
    if (stream_.events.empty()) {
      stream_.begin.live = allocated.value_or(size) - size;
      stream_.from_start = allocated == size;
    }
    stream_.events.push_back({size > 0 ? TraceAction::kAlloc : TraceAction::kFree, 0, caller_of(line, is_workspace),
                              std::abs(size), address});
    if (reserved) stream_.reserved_after.push_back(*reserved);
  }

  EventStream finish() {
    // Used only if every event has it: a sum that is known now and then can't be followed.
    if (stream_.reserved_after.size() != stream_.events.size()) stream_.reserved_after.clear();
    return std::move(stream_);
  }

 private:
  EventStream stream_;
  std::uint32_t caller_of(std::string_view line, bool is_workspace) {
    if (line.empty() && !is_workspace) return 0;
    const std::string key = (is_workspace ? "workspace " : "") + std::string(line);
    const auto [known, is_new] = callers_.try_emplace(key, static_cast<std::uint32_t>(stream_.callers.size()));
    if (is_new) stream_.callers.push_back({std::string(line), "", is_workspace});
    return known->second;
  }
  std::unordered_map<std::string, std::uint32_t> callers_;
};

}  // namespace

EventStream stream_of(const facts::BlockEvents& events) {
  BlockStreamBuilder builder;
  for (const facts::BlockEvent& event : events) {
    builder.add(event.bytes, event.address, event.allocated, event.reserved, event.line, event.is_workspace);
  }
  return builder.finish();
}

EventStream stream_of(const model::KinetoTrace& trace, int device) {
  BlockStreamBuilder builder;
  for (const model::KinetoMemory& event : trace.memory) {
    if (event.device != device) continue;
    builder.add(event.bytes, event.address, event.allocated, event.reserved, trace.text(event.caller), false);
  }
  return builder.finish();
}

}  // namespace vramfit::app
