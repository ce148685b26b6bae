#include "compare/workspaces.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "compare/sequence_diff.h"

namespace vramfit::compare {

namespace {

struct Allocation {
  std::int64_t size = 0;
  std::uint32_t stream = 0;
  bool for_workspace = false;          // its caller asks for workspaces
  const std::string* layer = nullptr;  // of a mark
  bool is_mark() const { return layer != nullptr; }
};

// Where nobody's stack shows functions of C++, anybody may have asked for a workspace.
bool tells_workspaces(const EventStream& stream) { return std::ranges::any_of(stream.callers, &Caller::workspace); }

std::vector<Allocation> allocations_of(const EventStream& stream, const Marks& marks) {
  const bool is_told = tells_workspaces(stream);
  std::vector<Allocation> all;
  for (const Event& event : stream.events) {
    if (event.action != model::TraceAction::kAlloc) continue;
    Allocation one{event.size, event.stream, !is_told || stream.callers[event.caller].workspace, nullptr};
    const auto mark = one.for_workspace ? marks.find(event.size) : marks.end();
    if (mark != marks.end()) one.layer = &mark->second;
    all.push_back(one);
  }
  return all;
}

// Positions of what is no mark, and what each is told by.
struct Plain {
  std::vector<std::size_t> positions;
  std::vector<std::uint64_t> words;
};

Plain plain_of(const std::vector<Allocation>& all) {
  Plain plain;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_mark()) continue;
    plain.positions.push_back(i);
    plain.words.push_back(static_cast<std::uint64_t>(all[i].size) << 8 | (all[i].stream & 0xFF));
  }
  return plain;
}

class Reader {
 public:
  // What lies between two neighbours that both sides have.
  void read(std::span<const Allocation> recorded, std::span<const Allocation> marked) {
    const bool only_marks = std::ranges::all_of(marked, &Allocation::is_mark);
    const bool only_workspaces = std::ranges::all_of(recorded, &Allocation::for_workspace);
    if (marked.empty() || !only_marks || !only_workspaces || !pair(recorded, marked)) {
      for (const Allocation& mark : marked) {
        if (mark.is_mark()) met_.insert(*mark.layer);
      }
    }
  }

  WorkspaceReading finish() {
    WorkspaceReading reading;
    for (const auto& [layer, seen] : seen_) {
      if (!layer.empty()) reading.layers.push_back({layer, base::Bytes(seen.taken), base::Bytes(seen.largest)});
    }
    reading.unclear = static_cast<std::size_t>(
        std::ranges::count_if(met_, [&](const std::string& layer) { return layer.empty() || !seen_.contains(layer); }));
    return reading;
  }

 private:
  struct LayerWorkspace {
    std::int64_t taken = 0, largest = 0;
  };

  bool pair(std::span<const Allocation> recorded, std::span<const Allocation> marked) {
    if (recorded.empty() || recorded.size() == marked.size()) {
      for (std::size_t i = 0; i < marked.size(); ++i) see(marked[i], recorded.empty() ? 0 : recorded[i].size);
      return true;
    }
    const auto is_first = [&](const Allocation& mark) { return *mark.layer == *marked.front().layer; };
    if (!std::ranges::all_of(marked, is_first)) return false;
    // Benchmark mode: its largest first, then the plan's own, which is no event when it is 0.
    for (const Allocation& one : recorded) see(marked.front(), one.size);
    if (recorded.size() < marked.size()) see(marked.front(), 0);
    return true;
  }
  void see(const Allocation& mark, std::int64_t size) {
    LayerWorkspace& seen = seen_[*mark.layer];
    seen.taken = size;
    seen.largest = std::max(seen.largest, size);
  }

  std::map<std::string, LayerWorkspace> seen_;
  std::set<std::string> met_;
};

}  // namespace

WorkspaceReading read_workspaces(const EventStream& recorded, const EventStream& marked, const Marks& marks) {
  const auto there = allocations_of(recorded, {}), here = allocations_of(marked, marks);
  const Plain plain_there = plain_of(there), plain_here = plain_of(here);
  Reader reader;
  std::optional<Match> last;  // what comes before the first may have been left out of the recording
  for (const Match& match : common_subsequence(plain_there.words, plain_here.words)) {
    const Match now{plain_there.positions[match.first], plain_here.positions[match.second]};
    if (last) {
      reader.read(std::span(there).subspan(last->first + 1, now.first - last->first - 1),
                  std::span(here).subspan(last->second + 1, now.second - last->second - 1));
    }
    last = now;
  }
  return reader.finish();
}

}  // namespace vramfit::compare
