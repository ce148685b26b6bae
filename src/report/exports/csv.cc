#include "report/exports/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

namespace vramfit::report::exports {

namespace {

constexpr std::array<std::string_view, 3> kCounters = {"allocated", "reserved", "device"};

struct Row {
  std::array<std::optional<base::Bytes>, kCounters.size()> values;
  std::string mark;
};

// A cell that begins like a formula would run as one in a spreadsheet.
std::string cell(std::string_view text) {
  std::string safe(text);
  if (!safe.empty() && std::string_view("=+-@\t\r").find(safe.front()) != std::string_view::npos) safe.insert(0, "'");
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char one : safe) quoted += one == '"' ? std::string("\"\"") : std::string(1, one);
  return quoted + "\"";
}

// The innermost that is going on; the slices of a card are few.
std::string_view phase_at(const ExportFacts& facts, int device, std::int64_t at_ns) {
  const Slice* innermost = nullptr;
  for (const Slice& slice : facts.slices) {
    if (slice.device != device || at_ns < slice.from_ns || at_ns >= slice.to_ns) continue;
    if (innermost == nullptr || slice.from_ns >= innermost->from_ns) innermost = &slice;
  }
  return innermost == nullptr ? std::string_view() : innermost->name;
}

void add_card(std::string& csv, const ExportFacts& facts, int device) {
  std::map<std::int64_t, Row> rows;
  for (const Counter& counter : facts.counters) {
    const auto known = std::ranges::find(kCounters, counter.name);
    if (counter.device != device || known == kCounters.end()) continue;
    const auto column = static_cast<std::size_t>(known - kCounters.begin());
    for (const CounterPoint& point : counter.points) rows[point.at_ns].values[column] = point.value;
  }
  for (const Mark& mark : facts.marks) {
    if (mark.device != device) continue;
    std::string& cell = rows[mark.at_ns].mark;
    cell += (cell.empty() ? "" : "; ") + mark.text;
  }
  for (const auto& [at_ns, row] : rows) {
    csv += fmt::format("{},{},{:.6f},{}", cell(facts.title), device, static_cast<double>(at_ns) / 1e9,
                       cell(phase_at(facts, device, at_ns)));
    for (const auto& value : row.values) csv += value ? fmt::format(",{}", value->count()) : ",";
    csv += fmt::format(",{}\r\n", cell(row.mark));
  }
}

}  // namespace

std::string counters_to_csv(const std::vector<ExportFacts>& exported) {
  std::string csv = "of,card,seconds,phase,allocated_bytes,reserved_bytes,device_bytes,mark\r\n";
  for (const ExportFacts& facts : exported) {
    for (const CardFacts& card : facts.cards) add_card(csv, facts, card.device);
  }
  return csv;
}

}  // namespace vramfit::report::exports
