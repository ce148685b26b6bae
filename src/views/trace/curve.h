// Memory over time at several resolutions, so that a page can draw ten million entries as quickly as a thousand.
//
//   level 0    [      least, most      ][      least, most      ] ...     1024 buckets
//   level 1    [  ][  ][  ][  ][  ][  ][  ][  ] ...                        eight times as many
//   ...                                                                    until a bucket is one entry, or kMostBuckets
#ifndef VRAMFIT_VIEWS_TRACE_CURVE_H
#define VRAMFIT_VIEWS_TRACE_CURVE_H

#include <cstddef>
#include <vector>

#include "report/page/trace_facts.h"
#include "views/trace/history.h"

namespace vramfit::views::report_trace {

inline constexpr std::size_t kFewestBuckets = 1024;
inline constexpr std::size_t kBucketGrowth = 8;

// `most_buckets`: of the finest level.
std::vector<report::page::CurveLevel> build_curve(const History& history, const std::vector<model::TraceEntry>& trace,
                                                  std::size_t most_buckets);

// The time of an instant, in seconds since the trace began.
double seconds_at(const std::vector<model::TraceEntry>& trace, Instant instant);

}  // namespace vramfit::views::report_trace

#endif
