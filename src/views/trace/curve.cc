#include "views/trace/curve.h"

#include <algorithm>
#include <cstdint>

#include "model/allocator_sizes.h"

namespace vramfit::views::report_trace {

using report::page::CurveLevel;

namespace {

constexpr std::int64_t kUnit = model::kBlockUnit;  // bytes; every block is a multiple

std::uint32_t in_units(std::int64_t bytes) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>((bytes + kUnit - 1) / kUnit, 0, UINT32_MAX));
}

// A bucket begins with the state that the one before it left, so that no step between two is lost.
CurveLevel build_level(const History& history, const std::vector<model::TraceEntry>& trace, std::size_t per_bucket) {
  CurveLevel level{.entries_per_bucket = static_cast<std::int64_t>(per_bucket)};
  const std::size_t instants = history.allocated.size();
  const bool has_times = !trace.empty() && trace.back().time_us > 0;
  for (std::size_t begin = 0; begin < instants; begin += per_bucket) {
    const std::size_t end = std::min(begin + per_bucket, instants);
    const auto span = [&](const std::vector<std::int64_t>& values) {
      return std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                 values.begin() + static_cast<std::ptrdiff_t>(end));
    };
    const auto allocated = span(history.allocated);
    level.allocated_least.push_back(in_units(*allocated.first));
    level.allocated_most.push_back(in_units(*allocated.second));
    level.reserved_most.push_back(in_units(*span(history.reserved).second));
    if (has_times) level.begins.push_back(seconds_at(trace, static_cast<Instant>(begin)));
  }
  return level;
}

}  // namespace

double seconds_at(const std::vector<model::TraceEntry>& trace, Instant instant) {
  if (trace.empty() || instant == 0) return 0;
  return static_cast<double>(trace[instant - 1].time_us - trace.front().time_us) / 1e6;
}

std::vector<CurveLevel> build_curve(const History& history, const std::vector<model::TraceEntry>& trace,
                                    std::size_t most_buckets) {
  std::vector<CurveLevel> levels;
  const std::size_t instants = history.allocated.size();
  for (std::size_t buckets = kFewestBuckets;; buckets *= kBucketGrowth) {
    const std::size_t per_bucket = (instants + buckets - 1) / buckets;
    levels.push_back(build_level(history, trace, per_bucket));
    if (per_bucket == 1 || buckets * kBucketGrowth > most_buckets) return levels;
  }
}

}  // namespace vramfit::views::report_trace
