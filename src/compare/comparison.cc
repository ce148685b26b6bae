#include "compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "compare/alignment.h"
#include "compare/causes.h"
#include "compare/places.h"
#include "compare/sequence_diff.h"
#include "compare/totals.h"

namespace vramfit::compare {

namespace {

using model::Agreement;
using model::CheckResult;
using model::TraceAction;

constexpr std::size_t kShownDifferences = 20;
constexpr std::size_t kLeastEvents = 2;

model::CheckEvent describe(const EventStream& stream, std::size_t at) {
  const Event& event = stream.events[at];
  return {std::string(model::trace_action_name(event.action)), base::Bytes(event.size),
          stream.callers[event.caller].line};
}

// Whether all calls of a hunk only change places.
bool is_reordering(const Hunk& hunk, const EventStream& recorded, const EventStream& virtual_run,
                   const Alignment& alignment) {
  const auto all = [](const EventStream& stream, const std::vector<bool>& moved, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (!moved[i] && !is_segment(stream.events[i].action)) return false;
    }
    return true;
  };
  return all(recorded, alignment.is_moved, hunk.recorded_begin, hunk.recorded_end) &&
         all(virtual_run, alignment.is_taken, hunk.virtual_begin, hunk.virtual_end);
}

// Segments that come before a call are left to the comparison of segments.
std::size_t first_call(const EventStream& stream, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    if (!is_segment(stream.events[i].action)) return i;
  }
  return begin;
}

void add_differences(const EventStream& recorded, const EventStream& virtual_run, const Alignment& alignment,
                     CheckResult& result) {
  result.all_differences = std::ssize(alignment.hunks);
  for (const Hunk& hunk : alignment.hunks) {
    if (result.differences.size() == kShownDifferences) break;
    model::CheckDifference difference;
    const std::size_t recorded_at = first_call(recorded, hunk.recorded_begin, hunk.recorded_end);
    const std::size_t virtual_at = first_call(virtual_run, hunk.virtual_begin, hunk.virtual_end);
    difference.recorded_at = static_cast<std::int64_t>(recorded_at);
    difference.virtual_at = static_cast<std::int64_t>(virtual_at);
    difference.recorded_events = static_cast<std::int64_t>(hunk.recorded_end - hunk.recorded_begin);
    difference.virtual_events = static_cast<std::int64_t>(hunk.virtual_end - hunk.virtual_begin);
    difference.is_reordering = is_reordering(hunk, recorded, virtual_run, alignment);
    if (recorded_at < recorded.events.size()) difference.recorded = describe(recorded, recorded_at);
    if (virtual_at < alignment.virtual_end) difference.virtual_run = describe(virtual_run, virtual_at);
    result.differences.push_back(std::move(difference));
  }
}

std::int64_t count_calls(const EventStream& stream, std::size_t begin, std::size_t end) {
  std::int64_t calls = 0;
  for (std::size_t i = begin; i < end; ++i) calls += is_segment(stream.events[i].action) ? 0 : 1;
  return calls;
}

// Sizes of the segments that came, in order.
std::vector<std::uint64_t> segments_of(const EventStream& stream, std::size_t begin, std::size_t end) {
  std::vector<std::uint64_t> sizes;
  for (std::size_t i = begin; i < end; ++i) {
    const Event& event = stream.events[i];
    if (event.action == TraceAction::kSegmentAlloc || event.action == TraceAction::kSegmentMap) {
      sizes.push_back(static_cast<std::uint64_t>(event.size));
    }
  }
  return sizes;
}

void add_segments(const EventStream& recorded, const EventStream& virtual_run, const Alignment& alignment,
                  CheckResult& result) {
  const auto there = segments_of(recorded, 0, recorded.events.size());
  const auto here = segments_of(virtual_run, alignment.virtual_begin, alignment.virtual_end);
  result.recorded_segments = std::ssize(there);
  result.virtual_segments = std::ssize(here);
  result.same_segments = std::ssize(common_subsequence(there, here));
}

// Whether the sums are the same, at the end and at the most.
struct SameSums {
  bool reserved = true, live = true;
};

SameSums add_figures(const EventStream& recorded, const EventStream& virtual_run, const Alignment& alignment,
                     CheckResult& result) {
  const Course there = count_totals(recorded, 0, recorded.events.size());
  const Course here = count_totals(virtual_run, alignment.virtual_begin, alignment.virtual_end);
  const auto add = [&](std::string name, std::optional<std::int64_t> first, std::optional<std::int64_t> second,
                       bool is_bytes) {
    if (!first && !second) return;
    if (!first || !second) second = std::nullopt;
    result.figures.push_back({std::move(name), first, second, is_bytes});
  };
  const std::string live = recorded.sizes_rounded ? "allocated" : "live bytes";
  add(live + " at the peak", there.peak.live, here.peak.live, true);
  add(live + " at the end", there.end.live, here.end.live, true);
  add("reserved at the peak", there.peak.reserved, here.peak.reserved, true);
  add("reserved at the end", there.end.reserved, here.end.reserved, true);
  add("segments at the end", there.end.segments, here.end.segments, false);
  return {there.peak.reserved == here.peak.reserved && there.end.reserved == here.end.reserved,
          there.peak.live == here.peak.live && there.end.live == here.end.live};
}

std::string describe(const CheckResult& result) {
  std::string events = fmt::format("{} of {} events the same, in order", result.same, result.recorded_events);
  if (result.moved > 0) events += fmt::format(", {} in another place", result.moved);
  if (result.only_recorded > 0) events += fmt::format(", {} only recorded", result.only_recorded);
  if (result.only_virtual > 0) events += fmt::format(", {} only in the virtual run", result.only_virtual);
  return events;
}

}  // namespace

CheckResult compare(const EventStream& recorded, const EventStream& virtual_run) {
  CheckResult result;
  result.recorded_events = count_calls(recorded, 0, recorded.events.size());
  if (recorded.events.size() < kLeastEvents || virtual_run.events.empty()) {
    result.virtual_events = count_calls(virtual_run, 0, virtual_run.events.size());
    result.text = recorded.events.size() < kLeastEvents ? "the recording holds no events to compare"
                                                        : "the virtual run used no memory of the card";
    return result;
  }
  const Alignment alignment = align(recorded, virtual_run);
  const auto count = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  result.virtual_events = count(alignment.virtual_calls);
  result.before_events = count_calls(virtual_run, 0, alignment.virtual_begin);
  result.after_events = count_calls(virtual_run, alignment.virtual_end, virtual_run.events.size());
  result.same = count(alignment.same);
  result.moved = count(alignment.moved);
  result.only_recorded = count(alignment.only_recorded);
  result.only_virtual = count(alignment.only_virtual);
  add_differences(recorded, virtual_run, alignment, result);
  const PlaceCount places = compare_places(recorded, virtual_run, alignment);
  result.same_places = count(places.same);
  result.places = count(places.of);
  if (places.first_other != kNobody) result.first_other_place = describe(recorded, places.first_other);
  if (recorded.has_places) {
    result.recorded_address_order = to_string(find_address_order(recorded));
    result.virtual_address_order = to_string(find_address_order(virtual_run));
    add_segments(recorded, virtual_run, alignment, result);
  }
  const SameSums same = add_figures(recorded, virtual_run, alignment, result);
  const bool same_events = alignment.only_recorded == 0 && alignment.only_virtual == 0;
  result.agreement = !same_events || !same.reserved || !same.live ? Agreement::kDifferent
                     : alignment.is_equal()                       ? Agreement::kSame
                                                                  : Agreement::kReordered;
  result.text = describe(result);
  if (same_events && !same.live) result.text += ", but what is allocated differs: see the sums";
  result.causes = find_causes({recorded, virtual_run, alignment, places, same.reserved, same.live});
  return result;
}

}  // namespace vramfit::compare
