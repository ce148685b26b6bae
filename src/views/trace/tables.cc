#include "views/trace/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace vramfit::views::report_trace {

using report::page::LineTotal;
using report::page::SegmentRow;

namespace {

template <class Lived>
bool is_there(const Lived& one, Instant instant) {
  return one.from <= instant && instant < one.to;
}

}  // namespace

std::string group_title(const Range& range) {
  std::string title = range.kind == allocator::PoolKind::kLarge ? "large pool" : "small pool";
  if (!range.pool.is_default()) title += fmt::format(" of private pool {},{}", range.pool.first, range.pool.second);
  return title + (range.stream == 0 ? ", default stream" : fmt::format(", stream {:#x}", range.stream));
}

std::vector<LineTotal> add_up_lines(const History& history, Instant instant, const LineOf& line_of) {
  std::map<std::string, LineTotal> totals;
  for (const Tenant& tenant : history.tenants) {
    if (!is_there(tenant, instant)) continue;
    LineTotal& total = totals[line_of(tenant)];
    total.bytes += static_cast<std::int64_t>(tenant.size);
    ++total.blocks;
  }
  std::vector<LineTotal> rows;
  for (auto& [line, total] : totals) {
    total.line = line;
    rows.push_back(std::move(total));
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), &LineTotal::bytes);
  return rows;
}

std::vector<SegmentRow> describe_segments(const History& history, Instant instant) {
  std::map<std::uint64_t, const Tenant*> tenants;
  for (const Tenant& tenant : history.tenants) {
    if (is_there(tenant, instant)) tenants[tenant.address] = &tenant;
  }
  std::vector<SegmentRow> rows;
  for (const Range& range : history.ranges) {
    if (!is_there(range, instant)) continue;
    SegmentRow row{.address = range.address, .group = group_title(range)};
    row.size = static_cast<std::int64_t>(range.size);
    std::uint64_t at = range.address;
    const std::uint64_t end = range.address + range.size;
    const auto hole = [&](std::uint64_t until) {
      if (until <= at) return;
      row.free += static_cast<std::int64_t>(until - at);
      row.largest_hole = std::max(row.largest_hole, static_cast<std::int64_t>(until - at));
    };
    for (auto found = tenants.lower_bound(range.address); found != tenants.end() && found->first < end; ++found) {
      const Tenant& tenant = *found->second;
      hole(tenant.address);
      at = std::max(at, tenant.address + tenant.size);
      ++row.blocks;
      (tenant.freed <= instant ? row.waiting : row.allocated) += static_cast<std::int64_t>(tenant.size);
    }
    hole(end);
    rows.push_back(std::move(row));
  }
  std::ranges::sort(rows, {}, &SegmentRow::address);
  return rows;
}

}  // namespace vramfit::views::report_trace
