// What was in use and reserved after a part of a stream, and at the most within it.
#ifndef VRAMFIT_COMPARE_TOTALS_H
#define VRAMFIT_COMPARE_TOTALS_H

#include <cstddef>

#include "compare/event_stream.h"

namespace vramfit::compare {

struct Course {
  Totals end;
  Totals peak;  // each figure at its own moment
  bool operator==(const Course&) const = default;
};

// Counts the events from `begin` up to `end`; what came before `begin` is counted, but not for the peak.
Course count_totals(const EventStream& stream, std::size_t begin, std::size_t end);

}  // namespace vramfit::compare

#endif
