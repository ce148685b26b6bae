#include "app/check/snapshot_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "compare/totals.h"
#include "ingest/snapshot/trace_gap.h"
#include "model/snapshot_line.h"

namespace vramfit::app {

namespace {

using compare::Caller;
using compare::Event;
using compare::EventStream;
using model::Snapshot;
using model::TraceAction;

constexpr std::string_view kPackages = "site-packages/";

// Functions that ask for a workspace: ATen/native/cudnn/Conv_v8.cpp, ATen/cuda/CUDABlas.cpp, CublasHandlePool.cpp.
constexpr std::array<std::string_view, 6> kWorkspaceWords = {"Workspace", "workspace",   "run_conv_plan",
                                                             "try_plans", "try_configs", "run_single_conv"};

bool is_compared(TraceAction action) {
  switch (action) {
    case TraceAction::kSnapshot:
    case TraceAction::kUserDefined:
    case TraceAction::kAnnotate:
    case TraceAction::kUnknown:
      return false;
    default:
      return true;
  }
}

// "torch/nn/modules/module.py" of ".../site-packages/torch/nn/modules/module.py"; empty for the user's own.
std::string_view in_package(std::string_view file) {
  const std::size_t at = file.rfind(kPackages);
  return at == std::string_view::npos ? std::string_view() : file.substr(at + kPackages.size());
}

std::string_view first_folder(std::string_view path) { return path.substr(0, path.find('/')); }

// The package that asked, through PyTorch or not.
std::string find_package(const Snapshot& snapshot, model::StackId stack) {
  for (const model::FrameId id : snapshot.stack(stack)) {
    const std::string_view file = snapshot.text(snapshot.frame(id).file);
    if (!file.ends_with(".py")) continue;
    const std::string_view inside = in_package(file);
    if (first_folder(inside) == "torch") continue;
    return std::string(first_folder(inside));
  }
  return "";
}

bool asks_for_workspace(const Snapshot& snapshot, model::StackId stack) {
  return std::ranges::any_of(snapshot.stack(stack), [&](model::FrameId id) {
    const std::string_view function = snapshot.text(snapshot.frame(id).function);
    return std::ranges::any_of(kWorkspaceWords, [&](std::string_view word) { return function.contains(word); });
  });
}

class SnapshotStreamBuilder {
 public:
  explicit SnapshotStreamBuilder(const Snapshot& snapshot) : snapshot_(snapshot) {}

  void add(const model::TraceEntry& entry) {
    if (!is_compared(entry.action)) return;
    Event event;
    event.action = entry.action;
    event.size = entry.size;
    event.address = entry.action == TraceAction::kOom ? 0 : entry.addr;
    event.stream = streams_.try_emplace(entry.stream, static_cast<std::uint32_t>(streams_.size())).first->second;
    event.caller = caller_of(entry.stack);
    stream.events.push_back(event);
  }

  EventStream stream;

 private:
  std::uint32_t caller_of(model::StackId stack) {
    if (stack == model::StackId::kNone || snapshot_.stack(stack).empty()) return 0;
    const auto [known, is_new] =
        callers_.try_emplace(static_cast<std::uint32_t>(stack), static_cast<std::uint32_t>(stream.callers.size()));
    if (is_new) {
      stream.callers.push_back(
          {model::line_of(snapshot_, stack), find_package(snapshot_, stack), asks_for_workspace(snapshot_, stack)});
      note_library_lines(stack);
    }
    return known->second;
  }
  void note_library_lines(model::StackId stack) {
    for (const model::FrameId id : snapshot_.stack(stack)) {
      const model::Frame& frame = snapshot_.frame(id);
      const std::string_view file = in_package(snapshot_.text(frame.file));
      if (file.empty() || !file.ends_with(".py")) continue;
      stream.library_lines[fmt::format("{} {}", file, snapshot_.text(frame.function))].insert(frame.line);
    }
  }

  const Snapshot& snapshot_;
  std::unordered_map<std::int64_t, std::uint32_t> streams_;
  std::unordered_map<std::uint32_t, std::uint32_t> callers_;
};

// Segments that were there before the trace began: in the final state without an allocation in the trace, or freed in
// the trace without one.
std::vector<compare::Extent> find_first_segments(const Snapshot& snapshot, int device,
                                                 const std::vector<Event>& events) {
  std::unordered_set<std::uint64_t> came;
  std::vector<compare::Extent> first;
  for (const Event& event : events) {
    if (event.action == TraceAction::kSegmentAlloc || event.action == TraceAction::kSegmentMap) {
      came.insert(event.address);
    }
    if (event.action == TraceAction::kSegmentFree && came.insert(event.address).second) {
      first.push_back({event.address, event.size});
    }
  }
  for (const model::Segment& segment : snapshot.segments) {
    if (segment.device == device && !came.contains(segment.address)) {
      first.push_back({segment.address, segment.total_size});
    }
  }
  return first;
}

// Whether the trace has an allocation for everything that it frees.
bool begins_with_nothing(const std::vector<Event>& events) {
  std::unordered_set<std::uint64_t> live;
  for (const Event& event : events) {
    if (event.action == TraceAction::kAlloc) live.insert(event.address);
    if (event.action == TraceAction::kFreeCompleted && live.erase(event.address) == 0) return false;
  }
  return true;
}

// What was there before the trace began: what there was at its end, less what was allocated in it.
compare::Totals find_begin(const Snapshot& snapshot, int device, const EventStream& stream) {
  compare::Totals end{0, 0, 0};
  for (const model::Segment& segment : snapshot.segments) {
    if (segment.device != device) continue;
    *end.reserved += segment.total_size;
    ++*end.segments;
    for (const model::Block& block : segment.blocks) {
      if (block.state == model::BlockState::kInactive) continue;
      end.live += block.requested_size > 0 ? block.requested_size : block.size;
    }
  }
  EventStream empty = {};
  empty.events = stream.events;
  empty.begin = {0, 0, 0};
  const compare::Totals change = compare::count_totals(empty, 0, empty.events.size()).end;
  return {end.live - change.live, *end.reserved - *change.reserved, *end.segments - *change.segments};
}

}  // namespace

std::vector<int> devices_with_history(const Snapshot& snapshot) {
  std::vector<int> devices;
  for (std::size_t device = 0; device < snapshot.traces.size(); ++device) {
    const auto& trace = snapshot.traces[device];
    if (std::ranges::any_of(trace, [](const auto& entry) { return is_compared(entry.action); })) {
      devices.push_back(static_cast<int>(device));
    }
  }
  return devices;
}

int busiest_device(const Snapshot& snapshot) {
  const auto most = std::ranges::max_element(snapshot.traces, {}, [](const auto& trace) { return trace.size(); });
  return most == snapshot.traces.end() ? 0 : static_cast<int>(most - snapshot.traces.begin());
}

EventStream stream_of(const Snapshot& snapshot, int device) {
  SnapshotStreamBuilder builder(snapshot);
  const auto index = static_cast<std::size_t>(device);
  if (index < snapshot.traces.size()) {
    for (const model::TraceEntry& entry : snapshot.traces[index]) builder.add(entry);
  }
  EventStream stream = std::move(builder.stream);
  const auto gaps = ingest::find_trace_gaps(snapshot);
  stream.from_start = index >= gaps.size() || gaps[index].is_complete();
  stream.has_places = true;
  stream.settings = snapshot.settings;
  if (!snapshot.damage.empty()) {
    // The final state was not read, so only the events tell what there was at the beginning.
    stream.from_start = begins_with_nothing(stream.events);
    stream.begin = {0, 0, 0};
    return stream;
  }
  stream.first_segments = find_first_segments(snapshot, device, stream.events);
  stream.begin = find_begin(snapshot, device, stream);
  return stream;
}

}  // namespace vramfit::app
