#include "model/snapshot.h"

#include <array>
#include <utility>

namespace vramfit::model {
namespace {

// The words in the order of the enums. The last one is no word of any file.
constexpr std::array<std::string_view, 4> kStates = {"inactive", "active_allocated", "active_pending_free", "unknown"};
constexpr std::array<std::string_view, 13> kActions = {
    "alloc",       "free_requested", "free_completed", "segment_alloc", "segment_free",
    "segment_map", "segment_unmap",  "snapshot",       "oom",           "user_defined",
    "annotate",    "free",           "unknown"};

}  // namespace

StringId Snapshot::add_string(std::string_view text) {
  if (text.empty()) return StringId::kEmpty;
  strings.emplace_back(text);
  return static_cast<StringId>(strings.size() - 1);
}

FrameId Snapshot::add_frame(std::string_view file, std::string_view function, int line) {
  const StringId file_id = add_string(file);
  frames.push_back({file_id, add_string(function), line});
  return static_cast<FrameId>(frames.size() - 1);
}

StackId Snapshot::add_stack(std::span<const FrameId> stack) {
  stack_frames.insert(stack_frames.end(), stack.begin(), stack.end());
  stack_starts.push_back(static_cast<std::uint32_t>(stack_frames.size()));
  return static_cast<StackId>(stack_starts.size() - 2);
}

std::string_view block_state_name(BlockState state) { return kStates[static_cast<std::size_t>(state)]; }
std::string_view trace_action_name(TraceAction action) { return kActions[static_cast<std::size_t>(action)]; }

BlockState parse_block_state(std::string_view word) {
  if (word == "active_awaiting_free") return BlockState::kActivePendingFree;
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == word) return static_cast<BlockState>(i);
  }
  return BlockState::kUnknown;
}

}  // namespace vramfit::model
