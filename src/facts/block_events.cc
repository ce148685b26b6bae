#include "facts/block_events.h"

#include <cstdlib>
#include <utility>

#include "facts/recordings.h"

namespace vramfit::facts {

namespace {

BlockEvents events_of(const model::Recording& recording, int device) {
  BlockEvents events;
  std::int64_t workspace = -1;  // of the last cuDNN plan, until its block has been seen
  for (const vf_record& record : recording.records) {
    if (record.device != device) continue;
    if (record.kind == VF_RECORD_WORKSPACE) {
      workspace = record.size;
    } else if (record.kind == VF_RECORD_BLOCK_ALLOC || record.kind == VF_RECORD_BLOCK_FREE) {
      const bool is_alloc = record.kind == VF_RECORD_BLOCK_ALLOC;
      const bool is_workspace = is_alloc && workspace > 0 && record.size >= workspace;
      if (is_workspace) workspace = -1;
      events.push_back({is_alloc ? record.size : -std::abs(record.size), record.address, record.a, record.b,
                        recording.text(record.line), is_workspace});
    }
  }
  return events;
}

}  // namespace

std::vector<BlockEvents> block_events(const RunFacts& facts, int device) {
  std::vector<BlockEvents> all;
  for (const model::Recording& recording : recordings_of(facts)) all.push_back(events_of(recording, device));
  return all;
}

// What the virtual cuDNN noted of each plan: "engine 0; LAYER".
std::unordered_map<std::int64_t, std::string> workspace_marks(const RunFacts& facts) {
  std::unordered_map<std::int64_t, std::string> marks;
  for (const model::Recording& recording : recordings_of(facts)) {
    for (const vf_record& record : recording.records) {
      if (record.kind != VF_RECORD_WORKSPACE) continue;
      const std::string_view text = recording.text(record.text);
      const std::size_t at = text.find("; ");
      if (at == std::string_view::npos) continue;
      const auto [mark, is_new] = marks.try_emplace(record.size, text.substr(at + 2));
      if (!is_new && mark->second != text.substr(at + 2)) mark->second.clear();
    }
  }
  return marks;
}

}  // namespace vramfit::facts
