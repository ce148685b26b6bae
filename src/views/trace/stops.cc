#include "views/trace/stops.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "views/trace/curve.h"

namespace vramfit::views::report_trace {

using report::page::SmallBlocks;

namespace {

constexpr std::size_t kMostOomStops = 64;
constexpr std::size_t kFewestStops = 64;

Instant fullest(const std::vector<std::int64_t>& values, std::size_t begin, std::size_t end) {
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
  return static_cast<Instant>(
      begin +
      static_cast<std::size_t>(std::max_element(first, values.begin() + static_cast<std::ptrdiff_t>(end)) - first));
}

// Tenants that are there at some stop.
std::vector<std::uint32_t> find_seen(const History& history, const std::vector<Instant>& stops) {
  std::vector<std::uint32_t> seen;
  for (std::size_t i = 0; i < history.tenants.size(); ++i) {
    const Tenant& tenant = history.tenants[i];
    if (stop_of(stops, tenant.from) < stop_of(stops, tenant.to)) seen.push_back(static_cast<std::uint32_t>(i));
  }
  return seen;
}

// Moves what lies there at the instants that matter most (the peaks, the first OOM) to the front; gives how many.
std::size_t put_first(const History& history, std::vector<std::uint32_t>& tenants, std::size_t most) {
  const std::size_t instants = history.allocated.size();
  std::vector<Instant> matter = {fullest(history.allocated, 0, instants), fullest(history.reserved, 0, instants)};
  if (!history.ooms.empty()) matter.push_back(history.ooms.front().at);
  const auto is_there = [&](std::uint32_t index) {
    const Tenant& tenant = history.tenants[index];
    return std::ranges::any_of(matter, [&](Instant at) { return tenant.from <= at && at < tenant.to; });
  };
  const auto rest = std::ranges::stable_partition(tenants, is_there);
  return std::min(most, static_cast<std::size_t>(rest.begin() - tenants.begin()));
}

struct Change {
  std::uint32_t place = 0, stop = 0;
  std::int64_t bytes = 0, blocks = 0;
};

// The sums of what is not kept singly, place by place, whenever they change.
std::vector<SmallBlocks> sum_small(const History& history, const std::vector<Instant>& stops,
                                   std::span<const std::uint32_t> tenants) {
  std::vector<Change> changes;
  for (const std::uint32_t index : tenants) {
    const Tenant& tenant = history.tenants[index];
    const auto bytes = static_cast<std::int64_t>(tenant.size);
    changes.push_back({tenant.place, stop_of(stops, tenant.from), bytes, 1});
    changes.push_back({tenant.place, stop_of(stops, tenant.to), -bytes, -1});
  }
  const auto key = [](const Change& change) { return std::tuple(change.place, change.stop); };
  std::ranges::sort(changes, {}, key);
  std::vector<SmallBlocks> sums;
  std::int64_t bytes = 0, blocks = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const auto here = key(changes[i]);
    const auto before = std::pair(bytes, blocks);
    for (; i < changes.size() && key(changes[i]) == here; ++i) {
      bytes += changes[i].bytes;
      blocks += changes[i].blocks;
    }
    const auto [place, stop] = here;
    // Every place ends at nothing, so that the sums of the next begin there.
    if (std::pair(bytes, blocks) != before && stop < stops.size()) {
      sums.push_back({stop, place, static_cast<std::uint64_t>(bytes), static_cast<std::uint32_t>(blocks)});
    }
  }
  std::ranges::stable_sort(sums, {}, &SmallBlocks::stop);
  return sums;
}

// All in one place: still true, and says less.
void forget_places(History& history) {
  for (Tenant& tenant : history.tenants) tenant.place = 0;
  for (Range& range : history.ranges) range.place = 0;
}

}  // namespace

Budget share(Budget budget, std::size_t count) {
  budget.whole_stops = std::max<std::size_t>(budget.whole_stops / count, 1);
  budget.stops = std::max(budget.stops / count, kFewestStops);
  budget.blocks /= count;
  budget.sums /= count;
  budget.buckets = std::max(budget.buckets / count, kFewestBuckets);
  budget.stack_nodes /= count;
  budget.text_bytes /= count;
  return budget;
}

std::uint32_t stop_of(const std::vector<Instant>& stops, Instant instant) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(stops, instant) - stops.begin());
}

std::vector<Instant> choose_stops(const History& history, const Budget& budget) {
  const std::size_t instants = history.allocated.size();
  std::vector<Instant> stops;
  if (instants <= budget.whole_stops) {
    for (std::size_t i = 0; i < instants; ++i) stops.push_back(static_cast<Instant>(i));
    return stops;
  }
  for (std::size_t i = 0; i < budget.stops; ++i) {
    const std::size_t begin = instants * i / budget.stops, end = instants * (i + 1) / budget.stops;
    if (begin < end) stops.push_back(fullest(history.allocated, begin, end));
  }
  stops.push_back(fullest(history.allocated, 0, instants));
  stops.push_back(fullest(history.reserved, 0, instants));
  stops.push_back(history.last());
  for (std::size_t i = 0; i < std::min(kMostOomStops, history.ooms.size()); ++i) stops.push_back(history.ooms[i].at);
  std::ranges::sort(stops);
  const auto again = std::ranges::unique(stops);
  stops.erase(again.begin(), again.end());
  return stops;
}

Kept keep_largest(History& history, const Budget& budget) {
  Kept kept;
  Budget smaller = budget;
  for (bool is_last = false;;) {
    kept.stops = choose_stops(history, smaller);
    std::vector<std::uint32_t> seen = find_seen(history, kept.stops);
    const auto size_of = [&](std::uint32_t index) { return history.tenants[index].size; };
    std::ranges::stable_sort(seen, std::ranges::greater(), size_of);
    const std::size_t first = put_first(history, seen, budget.blocks / 4);
    std::ranges::stable_sort(std::span(seen).subspan(first), std::ranges::greater(), size_of);
    const std::size_t count = std::min(seen.size(), budget.blocks);
    kept.least_kept = count == seen.size() ? 0 : size_of(seen[count]) + 1;
    kept.small = sum_small(history, kept.stops, std::span(seen).subspan(count));
    if (kept.small.size() <= budget.sums || is_last) {
      seen.resize(count);
      kept.tenants = std::move(seen);
      return kept;
    }
    if (smaller.stops > kFewestStops) {
      smaller.whole_stops = 0;
      smaller.stops = std::max(kFewestStops, smaller.stops / 4);
    } else {
      forget_places(history);
      is_last = true;
    }
  }
}

}  // namespace vramfit::views::report_trace
