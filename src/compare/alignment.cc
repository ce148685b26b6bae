#include "compare/alignment.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>

#include "compare/sequence_diff.h"

namespace vramfit::compare {

namespace {

using Keys = std::vector<std::uint64_t>;
using KeySpan = std::span<const std::uint64_t>;

// So many events in a row are taken for the same place of a job.
constexpr std::size_t kLongRun = 64, kShortRun = 16;
// An event that is so far away from its place at the most has changed places; farther away it is another one.
constexpr std::size_t kNear = 1000;
// How far two runs of equal events are compared to tell which of them is the longer.
constexpr std::size_t kMostCompared = 100'000;
// The same of orders of calls, which are alike in many places: this many tell one from another.
constexpr std::size_t kMostShapes = 4096;

std::uint64_t key_of(const Event& event) {
  std::uint64_t key = static_cast<std::uint64_t>(event.size) * 0x9E3779B97F4A7C15u;
  key ^= key >> 29;
  key += static_cast<std::uint64_t>(event.action) * 0xBF58476D1CE4E5B9u + event.stream * 0x94D049BB133111EBu;
  return key ^ (key >> 32);
}

// The same, whatever the sizes: of a run with another batch only what is done in which order stays.
std::uint64_t shape_of(const Event& event) {
  return key_of({event.action == model::TraceAction::kFree ? model::TraceAction::kFreeCompleted : event.action,
                 event.stream, 0, 0, 0});
}

// The calls of a stream: segments are the allocator's answer to them, and are compared for themselves.
struct Calls {
  Keys keys, shapes;
  std::vector<std::size_t> events;  // of each call: index into the stream; one more, the stream's end

  explicit Calls(const EventStream& stream) {
    for (std::size_t i = 0; i < stream.events.size(); ++i) {
      if (is_segment(stream.events[i].action)) continue;
      keys.push_back(key_of(stream.events[i]));
      shapes.push_back(shape_of(stream.events[i]));
      events.push_back(i);
    }
    events.push_back(stream.events.size());
  }
};

std::size_t common_run(KeySpan first, KeySpan second) {
  const std::size_t most = std::min({first.size(), second.size(), kMostCompared});
  std::size_t run = 0;
  while (run < most && first[run] == second[run]) ++run;
  return run;
}

// The place in the virtual run where the recording's first events come: the place from which they go on longest.
std::optional<std::size_t> find_begin(KeySpan recorded, KeySpan virtual_run) {
  for (const std::size_t run : {kLongRun, kShortRun}) {
    if (recorded.size() < run) continue;
    std::size_t best = kNobody, longest = 0;
    auto from = virtual_run.begin();
    while (true) {
      from =
          std::search(from, virtual_run.end(), recorded.begin(), recorded.begin() + static_cast<std::ptrdiff_t>(run));
      if (from == virtual_run.end()) break;
      const auto at = static_cast<std::size_t>(from - virtual_run.begin());
      const std::size_t length = common_run(recorded, virtual_run.subspan(at));
      if (length > longest) longest = length, best = at;
      if (length == std::min(recorded.size(), kMostCompared)) return at;
      ++from;
    }
    if (best != kNobody) return best;
  }
  return std::nullopt;
}

// The same where no events in a row are equal, as those of another batch size: the place from which the order of calls
// goes on longest; of equally long ones, where most sizes are equal, for weights keep theirs.
std::optional<std::size_t> find_begin_by_shape(const Calls& recorded, const Calls& virtual_run) {
  if (recorded.shapes.size() < kLongRun) return std::nullopt;
  std::pair<std::size_t, std::size_t> longest{0, 0};
  std::optional<std::size_t> best;
  const KeySpan wanted(recorded.shapes), all(virtual_run.shapes);
  for (auto from = all.begin();; ++from) {
    from = std::search(from, all.end(), wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(kLongRun));
    if (from == all.end()) return best;
    const auto at = static_cast<std::size_t>(from - all.begin());
    const std::size_t run = common_run(wanted.first(std::min(wanted.size(), kMostShapes)), all.subspan(at));
    std::size_t equal = 0;
    for (std::size_t i = 0; i < run; ++i) equal += recorded.keys[i] == virtual_run.keys[at + i] ? 1 : 0;
    if (const std::pair length{run, equal}; length > longest) longest = length, best = at;
  }
}

// The place where it ends: behind the recording's last events, at the place nearest to where as many events have
// passed.
std::size_t find_end(KeySpan recorded, KeySpan virtual_run, std::size_t begin) {
  const std::size_t expected = begin + recorded.size();
  if (common_run(recorded, virtual_run.subspan(begin)) == recorded.size()) return expected;
  if (virtual_run.size() - begin <= recorded.size() + kShortRun) return virtual_run.size();
  for (const std::size_t run : {kLongRun, kShortRun}) {
    if (recorded.size() < run) continue;
    const KeySpan last = recorded.last(run);
    std::size_t best = kNobody, nearest = kNobody;
    auto from = virtual_run.begin() + static_cast<std::ptrdiff_t>(begin);
    while ((from = std::search(from, virtual_run.end(), last.begin(), last.end())) != virtual_run.end()) {
      const auto end = static_cast<std::size_t>(from - virtual_run.begin()) + run;
      const std::size_t distance = end > expected ? end - expected : expected - end;
      if (distance < nearest) nearest = distance, best = end;
      ++from;
    }
    if (best != kNobody) return best;
  }
  return virtual_run.size();
}

// Hunks are of calls here, and of events once everything is found.
std::vector<Hunk> find_hunks(const std::vector<Match>& matches, std::size_t recorded_end, std::size_t virtual_begin,
                             std::size_t virtual_end) {
  std::vector<Hunk> hunks;
  Match last{0, virtual_begin};
  const auto add_until = [&](std::size_t recorded_at, std::size_t virtual_at) {
    if (last.first == recorded_at && last.second == virtual_at) return;
    hunks.push_back({last.first, recorded_at, last.second, virtual_at});
  };
  for (const Match& match : matches) {
    add_until(match.first, match.second + virtual_begin);
    last = {match.first + 1, match.second + virtual_begin + 1};
  }
  add_until(recorded_end, virtual_end);
  return hunks;
}

// Events without a partner that both sides have near each other. A virtual event stands where its hunk ends in the
// recording, so that all distances are counted in recorded events.
class MovedEvents {
 public:
  MovedEvents(Alignment& alignment, const Calls& recorded, const Calls& virtual_run)
      : alignment_(alignment), recorded_calls_(recorded), virtual_calls_(virtual_run) {}

  void add_recorded(std::uint64_t key, std::size_t event) {
    if (const auto virtual_event = take(virtual_, key, event)) {
      pair(event, *virtual_event);
    } else {
      recorded_[key].push_back({event, event});
    }
  }
  void add_virtual(std::uint64_t key, std::size_t event, std::size_t stands_at) {
    if (const auto recorded_event = take(recorded_, key, stands_at)) {
      pair(*recorded_event, event);
    } else {
      virtual_[key].push_back({event, stands_at});
    }
  }

 private:
  struct Waiting {
    std::size_t event, stands_at;
  };
  using Waiters = std::unordered_map<std::uint64_t, std::deque<Waiting>>;

  static std::optional<std::size_t> take(Waiters& from, std::uint64_t key, std::size_t now) {
    auto& waiting = from[key];
    while (!waiting.empty() && waiting.front().stands_at + kNear < now) waiting.pop_front();
    if (waiting.empty()) return std::nullopt;
    const std::size_t event = waiting.front().event;
    waiting.pop_front();
    return event;
  }
  void pair(std::size_t recorded_call, std::size_t virtual_call) {
    const std::size_t recorded = recorded_calls_.events[recorded_call];
    const std::size_t virtual_event = virtual_calls_.events[virtual_call];
    alignment_.partner[recorded] = virtual_event;
    alignment_.is_moved[recorded] = true;
    alignment_.is_taken[virtual_event] = true;
    ++alignment_.moved;
  }

  Alignment& alignment_;
  const Calls& recorded_calls_;
  const Calls& virtual_calls_;
  Waiters recorded_, virtual_;
};

void find_moved(Alignment& alignment, const std::vector<Hunk>& hunks, const Calls& recorded, const Calls& virtual_run) {
  MovedEvents moved(alignment, recorded, virtual_run);
  for (const Hunk& hunk : hunks) {
    for (std::size_t i = hunk.recorded_begin; i < hunk.recorded_end; ++i) moved.add_recorded(recorded.keys[i], i);
    for (std::size_t j = hunk.virtual_begin; j < hunk.virtual_end; ++j) {
      moved.add_virtual(virtual_run.keys[j], j, hunk.recorded_end);
    }
  }
}

}  // namespace

Alignment align(const EventStream& recorded, const EventStream& virtual_run) {
  const Calls first(recorded), second(virtual_run);
  auto found = recorded.from_start ? std::optional<std::size_t>(0) : find_begin(first.keys, second.keys);
  const bool is_by_shape = !found;
  if (is_by_shape) found = find_begin_by_shape(first, second);
  const std::size_t begin = found.value_or(0);
  const KeySpan rest = KeySpan(second.keys).subspan(begin);
  auto matches = common_subsequence(first.keys, rest);
  const bool is_whole =
      is_by_shape && found && common_run(first.shapes, KeySpan(second.shapes).subspan(begin)) == first.shapes.size();
  std::size_t end = is_whole ? begin + first.keys.size() : find_end(first.keys, second.keys, begin);
  // The last events of a job that repeats itself occur in many places: an end that costs matches is no end.
  if (end < second.keys.size()) {
    auto nearer = common_subsequence(first.keys, rest.first(end - begin));
    if (!is_whole && nearer.size() < matches.size()) {
      end = second.keys.size();
    } else {
      matches = std::move(nearer);
    }
  }
  Alignment alignment;
  alignment.partner.assign(recorded.events.size(), kNobody);
  alignment.is_moved.assign(recorded.events.size(), false);
  alignment.is_taken.assign(virtual_run.events.size(), false);
  alignment.virtual_begin = begin == 0 ? 0 : second.events[begin];
  alignment.virtual_end = second.events[end];
  alignment.recorded_calls = first.keys.size();
  alignment.virtual_calls = end - begin;
  alignment.same = matches.size();
  for (const Match& match : matches) {
    alignment.partner[first.events[match.first]] = second.events[match.second + begin];
  }
  const auto hunks = find_hunks(matches, first.keys.size(), begin, end);
  find_moved(alignment, hunks, first, second);
  for (const Hunk& hunk : hunks) {
    alignment.hunks.push_back({first.events[hunk.recorded_begin], first.events[hunk.recorded_end],
                               second.events[hunk.virtual_begin], second.events[hunk.virtual_end]});
  }
  alignment.only_recorded = alignment.recorded_calls - alignment.same - alignment.moved;
  alignment.only_virtual = alignment.virtual_calls - alignment.same - alignment.moved;
  return alignment;
}

}  // namespace vramfit::compare
