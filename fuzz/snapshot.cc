// Any bytes are a snapshot or refused. Every id of what was read points into its table, whatever the file said.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "ingest/snapshot/reader.h"

namespace {

namespace model = vramfit::model;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_text(const model::Snapshot& snapshot, model::StringId id) {
  check(static_cast<std::size_t>(id) < snapshot.strings.size());
}

void check_stack(const model::Snapshot& snapshot, model::StackId id) {
  check(static_cast<std::size_t>(id) + 1 < snapshot.stack_starts.size());
  for (const model::FrameId frame : snapshot.stack(id)) {
    check(static_cast<std::size_t>(frame) < snapshot.frames.size());
    check_text(snapshot, snapshot.frame(frame).file);
    check_text(snapshot, snapshot.frame(frame).function);
  }
}

void check_trace(const model::Snapshot& snapshot, const std::vector<model::TraceEntry>& trace) {
  for (const model::TraceEntry& entry : trace) {
    check(static_cast<std::size_t>(entry.context) < snapshot.contexts.size());
    check_text(snapshot, snapshot.context(entry.context).user_metadata);
    check_stack(snapshot, entry.stack);
  }
}

void check_segments(const model::Snapshot& snapshot, const std::vector<model::Segment>& segments) {
  for (const model::Segment& segment : segments) {
    check_stack(snapshot, segment.stack);
    for (const model::Block& block : segment.blocks) {
      check_stack(snapshot, block.stack);
      check(block.history <= snapshot.histories.size());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  vramfit::ingest::sniff_snapshot(bytes);
  const auto snapshot = vramfit::ingest::parse_snapshot(bytes, "fuzz", {.memory_bytes = 64 << 20});
  if (!snapshot) {
    check(!snapshot.error().what.empty());
    return 0;
  }
  check_segments(*snapshot, snapshot->segments);
  check_segments(*snapshot, snapshot->host_segments);
  for (const auto& trace : snapshot->traces) check_trace(*snapshot, trace);
  check_trace(*snapshot, snapshot->host_trace);
  for (const model::Annotation& annotation : snapshot->annotations) check_text(*snapshot, annotation.name);
  return 0;
}
