#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/parse_number.h"
#include "history/history.h"
#include "ingest/stored_result.h"
#include "ingest/stored_sweep.h"
#include "views/export.h"
#include "views/sweep_facts.h"

namespace vramfit::views {

using base::Bytes;
using base::Result;
using report::exports::Counter;
using report::exports::ExportFacts;
using report::exports::StackFrame;
using report::exports::StackProfile;

namespace {

void add_counters(ExportFacts& facts, const model::RunResult& result) {
  std::int64_t first_ns = 0;
  if (!result.timeline.empty()) {
    first_ns = std::ranges::min_element(result.timeline, {}, &model::TimelinePoint::at_ns)->at_ns;
  }
  for (const model::DeviceResult& device : result.devices) {
    std::vector<model::TimelinePoint> points;
    std::ranges::copy_if(result.timeline, std::back_inserter(points),
                         [&](const model::TimelinePoint& point) { return point.device == device.index; });
    std::ranges::stable_sort(points, {}, &model::TimelinePoint::at_ns);
    Counter allocated{"allocated", device.index, {}}, reserved{"reserved", device.index, {}},
        used{"device", device.index, {}};
    for (std::size_t i = 0; i < points.size(); ++i) {
      const std::int64_t at_ns = points[i].at_ns - first_ns;
      allocated.points.push_back({at_ns, points[i].allocated});
      reserved.points.push_back({at_ns, points[i].reserved});
      used.points.push_back({at_ns, points[i].used});
      if (!points[i].mark.empty()) facts.marks.push_back({points[i].mark, "mark", device.index, at_ns});
      if (i == 0 || points[i].phase != points[i - 1].phase) {
        if (i > 0) facts.slices.back().to_ns = at_ns;
        facts.slices.push_back({points[i].phase, device.index, at_ns, at_ns});
      }
    }
    if (!points.empty()) facts.slices.back().to_ns = points.back().at_ns - first_ns;
    facts.counters.push_back(std::move(allocated));
    facts.counters.push_back(std::move(reserved));
    const bool has_used = std::ranges::any_of(used.points, [](const auto& point) { return point.value.has_value(); });
    if (has_used) facts.counters.push_back(std::move(used));  // older runs kept none
  }
}

// An OOM that ended the job lies at the end of what was recorded; of one that was caught the time is not kept.
void add_oom(ExportFacts& facts, const model::RunResult& result) {
  if (!result.oom || result.oom->caught) return;
  std::int64_t last_ns = 0;
  for (const Counter& counter : facts.counters) {
    if (counter.device == result.peak_device && !counter.points.empty()) {
      last_ns = std::max(last_ns, counter.points.back().at_ns);
    }
  }
  facts.marks.push_back(
      {fmt::format("out of memory: tried {}", to_string(result.oom->tried)), "oom", result.peak_device, last_ns});
}

// "/data/train.py:12 in main" -> main, /data/train.py, 12. What looks otherwise is a name.
StackFrame frame_of(const std::string& line) {
  const std::size_t in = line.rfind(" in ");
  const std::string place = line.substr(0, in);
  const std::size_t colon = place.rfind(':');
  if (colon != std::string::npos) {
    if (const auto number = base::parse_number<int>(std::string_view(place).substr(colon + 1))) {
      return {in == std::string::npos ? place : line.substr(in + 4), place.substr(0, colon), *number};
    }
  }
  return {line, "", 0};
}

// Owner, then the module and those it lies in, then the script's line.
std::vector<StackFrame> frames_of(const model::OwnerRow& row) {
  std::vector<StackFrame> frames = {{row.owner, "", 0}};
  for (std::size_t from = 0; from < row.name.size();) {
    const std::size_t end = std::min(row.name.find('.', from), row.name.size());
    frames.push_back({row.name.substr(from, end - from), "", 0});
    from = end + 1;
  }
  if (!row.line.empty()) frames.push_back(frame_of(row.line));
  return frames;
}

void add_profiles(ExportFacts& facts, const model::RunResult& result) {
  for (const model::DeviceResult& device : result.devices) {
    StackProfile modules{fmt::format("card {}, the peak by module", device.index), {}};
    StackProfile lines{fmt::format("card {}, the peak by line", device.index), {}};
    for (const model::OwnerRow& row : result.owners_at_peak) {
      if (row.device == device.index && row.bytes.count() > 0) modules.stacks.push_back({frames_of(row), row.bytes});
    }
    for (const model::LineRow& row : result.lines_at_peak) {
      if (row.device == device.index && row.bytes.count() > 0)
        lines.stacks.push_back({{frame_of(row.line)}, row.bytes});
    }
    for (StackProfile* profile : {&modules, &lines}) {
      if (!profile->stacks.empty()) facts.profiles.push_back(std::move(*profile));
    }
  }
}

}  // namespace

Result<ExportFacts> facts_of_run(std::int64_t number) {
  auto history = history::History::open();
  if (!history) return std::unexpected(history.error());
  const auto runs = history->load({number}, {});
  if (!runs) return std::unexpected(runs.error());
  const model::StoredRun& stored = runs->front();
  ExportFacts facts{.title = fmt::format("run {}", number), .begins_ms = stored.started_ms};
  facts.outcome = stored.state == model::RunState::kEnded ? stored.end.verdict : std::string(to_string(stored.state));
  std::ranges::replace(facts.outcome, '_', ' ');
  for (const model::CardFigures& device : stored.end.devices) {
    facts.cards.push_back({device.index, device.name, device.total.value_or(Bytes()), device.device});
  }
  if (stored.end.result.empty()) return facts;
  if (stored.start.verb == "sweep") {
    if (auto sweep = ingest::read_stored_sweep(stored.end.result)) {
      facts.sweep = build_sweep_facts(std::move(*sweep), history->find_run());
    }
    return facts;
  }
  const auto result = ingest::read_stored_result(stored.end.result);
  if (!result) return facts;  // a doctor's: it has peaks at most
  add_counters(facts, result->run);
  add_oom(facts, result->run);
  add_profiles(facts, result->run);
  return facts;
}

}  // namespace vramfit::views
