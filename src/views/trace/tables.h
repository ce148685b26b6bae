// The rows of a page's tables at one instant, made of all blocks.
#ifndef VRAMFIT_VIEWS_TRACE_TABLES_H
#define VRAMFIT_VIEWS_TRACE_TABLES_H

#include <functional>
#include <string>
#include <vector>

#include "report/page/trace_facts.h"
#include "views/trace/history.h"

namespace vramfit::views::report_trace {

// Rows a page shows; trace_map.js and trace_card.js do the same.
inline constexpr std::size_t kMostSegments = 50;
inline constexpr std::size_t kMostLines = 15;

// "large pool, stream 0", "small pool 1,0, stream 0x55...".
std::string group_title(const Range& range);

using LineOf = std::function<const std::string&(const Tenant&)>;

// Most bytes first, all of them.
std::vector<report::page::LineTotal> add_up_lines(const History& history, Instant instant, const LineOf& line_of);
// Describes all segments, by address.
std::vector<report::page::SegmentRow> describe_segments(const History& history, Instant instant);

}  // namespace vramfit::views::report_trace

#endif
