#include "doctor/kept.h"

#include <algorithm>
#include <limits>

namespace vramfit::doctor {

namespace {

using base::Bytes;

constexpr std::int64_t kFewestSteps = 8;  // below, a window of the trace may lie within one step
constexpr std::int64_t kMostWindows = 8;

// What a queue of a fixed length lets go of, where the trace begins after it was filled.
std::int64_t count_older(const TraceSpan& trace, std::int64_t size) {
  return std::ranges::count(trace.freed_older, -size, &Change::bytes);
}

// Sizes of which few were freed beside those that live: layers of a loop, one of which is kept.
Kept of_kept_sizes(std::span<const LiveBlock> live, const SiteHistory& history, const TraceSpan& trace) {
  std::map<std::int64_t, std::int64_t> lives;
  for (const LiveBlock& block : live) ++lives[block.size];
  std::erase_if(lives, [&](const auto& of_size) {
    const auto& [size, count] = of_size;
    const auto freed = history.freed_by_size.find(size);
    return ((freed != history.freed_by_size.end() ? freed->second : 0) + count_older(trace, size)) * 4 > count;
  });
  Kept kept;
  for (const LiveBlock& block : live) {
    if (!lives.contains(block.size)) continue;
    kept.births.push_back(block.born);
    kept.bytes += Bytes(block.size);
  }
  return kept;
}

struct Low {
  std::size_t at = 0;
  std::int64_t bytes = 0;
};

// The least that lives at a time in each part of the trace: what a step frees again does not count, wherever a part
// begins. What was live before is not known, and counts as nothing.
std::vector<Low> lows_of(const SiteHistory& history, std::span<const LiveBlock> live, const TraceSpan& trace) {
  const auto [least, most] = std::ranges::minmax(live, {}, &LiveBlock::size);
  std::vector<Change> changes = history.changes;
  for (const Change& change : trace.freed_older) {
    if (-change.bytes >= least.size && -change.bytes <= most.size) changes.push_back(change);
  }
  std::ranges::stable_sort(changes, {}, &Change::at);
  const auto windows = static_cast<std::size_t>(std::clamp<std::int64_t>(trace.steps / 2, 4, kMostWindows));
  std::vector<Low> lows;
  std::int64_t level = 0;
  auto next = changes.begin();
  for (std::size_t window = 0; window < windows; ++window) {
    const std::size_t begin = trace.length * window / windows, end = trace.length * (window + 1) / windows;
    Low low{begin, level};
    for (; next != changes.end() && next->at < end; ++next) {
      level += next->bytes;
      if (level <= low.bytes) low = {next->at, level};
    }
    lows.push_back(low);
  }
  return lows;
}

// The least in the last two steps: what was born later is of the step that was under way.
std::size_t end_of_last_step(std::span<const Low> lows, const SiteHistory& history, const TraceSpan& trace) {
  const std::size_t tail = trace.length - trace.length * 2 / static_cast<std::size_t>(trace.steps);
  std::int64_t level = 0;
  Low low{lows.back().at, std::numeric_limits<std::int64_t>::max()};
  for (const Change& change : history.changes) {
    level += change.bytes;
    if (change.at >= tail && level <= low.bytes) low = {change.at, level};
  }
  return low.at;
}

// It rises in both halves, and never falls back by much: neither what is filled once nor what comes and goes. The first
// part is the start of the job, or the end of a step whose beginning the trace no longer has.
bool rises_throughout(std::span<const Low> lows) {
  const std::int64_t rise = lows.back().bytes - lows.front().bytes;
  const std::int64_t middle = lows[lows.size() / 2].bytes;
  if (rise <= 0 || (middle - lows.front().bytes) * 5 < rise || (lows.back().bytes - middle) * 5 < rise) return false;
  return std::ranges::adjacent_find(
             lows, [&](const Low& one, const Low& then) { return (one.bytes - then.bytes) * 5 > rise; }) == lows.end();
}

Kept of_rising_level(std::span<const LiveBlock> live, const SiteHistory& history, const TraceSpan& trace) {
  Kept kept;
  if (live.empty() || trace.steps < kFewestSteps) return kept;
  const std::vector<Low> all = lows_of(history, live, trace);
  const std::span<const Low> lows = std::span(all).subspan(1);
  if (!rises_throughout(lows)) return kept;
  const std::size_t end = end_of_last_step(lows, history, trace);
  for (const LiveBlock& block : live) {
    if (block.born > end) continue;
    kept.births.push_back(block.born);
    kept.bytes += Bytes(block.size);
  }
  kept.rises = true;
  return kept;
}

}  // namespace

Kept find_kept(std::span<const LiveBlock> live, const SiteHistory& history, const TraceSpan& trace) {
  Kept kept = of_kept_sizes(live, history, trace);
  Kept rising = of_rising_level(live, history, trace);
  if (rising.bytes > kept.bytes) kept = std::move(rising);
  std::ranges::sort(kept.births);
  return kept;
}

}  // namespace vramfit::doctor
