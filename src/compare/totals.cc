#include "compare/totals.h"

#include <algorithm>

namespace vramfit::compare {

namespace {

using model::TraceAction;

void apply(const Event& event, Totals& now) {
  const auto grow = [&](std::int64_t bytes) {
    if (now.reserved) *now.reserved += bytes;
  };
  switch (event.action) {
    case TraceAction::kAlloc:
      now.live += event.size;
      break;
    case TraceAction::kFree:
    case TraceAction::kFreeCompleted:
      now.live -= event.size;
      break;
    case TraceAction::kSegmentAlloc:
      grow(event.size);
      if (now.segments) ++*now.segments;
      break;
    case TraceAction::kSegmentFree:
      grow(-event.size);
      if (now.segments) --*now.segments;
      break;
    case TraceAction::kSegmentMap:
      grow(event.size);
      break;
    case TraceAction::kSegmentUnmap:
      grow(-event.size);
      break;
    default:
      break;
  }
}

void raise(Totals& peak, const Totals& now) {
  peak.live = std::max(peak.live, now.live);
  peak.reserved = std::max(peak.reserved, now.reserved);
  peak.segments = std::max(peak.segments, now.segments);
}

}  // namespace

Course count_totals(const EventStream& stream, std::size_t begin, std::size_t end) {
  Course course{stream.begin, {}};
  for (std::size_t i = 0; i < end; ++i) {
    if (i == begin) course.peak = course.end;
    apply(stream.events[i], course.end);
    if (!stream.reserved_after.empty()) course.end.reserved = stream.reserved_after[i];
    if (i >= begin) raise(course.peak, course.end);
  }
  if (begin >= end) course.peak = course.end;
  return course;
}

}  // namespace vramfit::compare
