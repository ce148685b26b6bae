#include "facts/reach.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/recording.h"

namespace vramfit::facts {

using model::Reach;
using model::Recording;
using model::UnreachedKind;
namespace notes = model::notes;

namespace {

constexpr int kMostLines = 1'000'000;  // of one file: a range beyond is no range

void add_ranges(const std::vector<notes::LineRange>& ranges, std::set<int>& lines) {
  for (const notes::LineRange& range : ranges) {
    const auto last = static_cast<int>(std::min<std::int64_t>(range.last, kMostLines));
    for (auto line = static_cast<int>(std::clamp<std::int64_t>(range.first, 0, kMostLines)); line <= last; ++line) {
      lines.insert(line);
    }
  }
}

model::Unreached unreached_of(const notes::UnreachedLines& gap) {
  return {gap.file,
          static_cast<int>(gap.line),
          static_cast<int>(gap.last_line),
          gap.place,
          gap.code,
          gap.why.value_or(gap.when),
          gap.card,
          static_cast<int>(gap.column),
          gap.what};
}

void apply_coverage(const notes::Coverage& note, Reach& reach) {
  for (const notes::UnreachedLines& each : note.unreached) {
    model::Unreached lines = unreached_of(each);
    const auto same = [&](const model::Unreached& known) {
      return known.file == lines.file && known.line == lines.line && known.column == lines.column &&
             known.when == lines.when;
    };
    if (std::ranges::none_of(reach.unreached, same)) reach.unreached.push_back(std::move(lines));
  }
  if (note.lines <= 0) return;
  const double share = std::min(1.0, static_cast<double>(note.lines_run) / static_cast<double>(note.lines));
  reach.lines_run = std::max(reach.lines_run.value_or(0), share);  // ranks run the same script
}

// Keeps the budget of the process that got furthest.
void apply_run_on(const notes::RunOn& note, Reach& reach) {
  if (note.count <= reach.batches) return;
  reach.batches = note.count;
  reach.peak_at = note.peak_at;
  reach.seconds = note.seconds;
}

void apply_looked(const notes::Looked& note, Reach& reach) {
  const model::LookedAt looked{static_cast<int>(note.loader), note.samples, note.of, note.differ};
  if (std::ranges::find(reach.looked, looked) == reach.looked.end()) reach.looked.push_back(looked);
}

void apply_open(const notes::Open& note, Reach& reach) {
  if (std::ranges::find(reach.open, note.text) == reach.open.end()) reach.open.push_back(note.text);
}

}  // namespace

Reach read_reach(std::span<const Recording> recordings) {
  Reach reach;
  bool was_cut = false, watched = true, seen = false;
  for (const Recording& recording : recordings) {
    const model::Notes& notes = recording.notes;
    was_cut |= !notes.cut.empty();
    for (const auto& run_on : notes.run_on) apply_run_on(run_on, reach);
    for (const auto& coverage : notes.coverage) {
      seen = true;
      watched &= coverage.known;
      apply_coverage(coverage, reach);
    }
    for (const auto& looked : notes.looked) apply_looked(looked, reach);
    for (const auto& open : notes.open) apply_open(open, reach);
  }
  reach.watched = seen && watched;
  reach.whole = !was_cut;
  drop_executed(read_executed(recordings), reach);
  return reach;
}

Executed read_executed(std::span<const Recording> recordings) {
  Executed executed;
  for (const Recording& recording : recordings) {
    for (const auto& coverage : recording.notes.coverage) {
      for (const auto& [file, ranges] : coverage.executed) add_ranges(ranges, executed.lines[file]);
      for (const auto& [file, parts] : coverage.parts) {
        for (const auto& part : parts) {
          executed.parts[file].emplace(static_cast<int>(part.line), static_cast<int>(part.column));
        }
      }
    }
  }
  return executed;
}

void drop_executed(const Executed& executed, Reach& reach) {
  std::erase_if(reach.unreached, [&](const model::Unreached& lines) {
    if (lines.what == UnreachedKind::kOtherSide) return false;  // coverage/crossings.py
    if (lines.what == UnreachedKind::kPart) {
      const auto parts = executed.parts.find(lines.file);
      return parts != executed.parts.end() && parts->second.contains({lines.line, lines.column});
    }
    const auto file = executed.lines.find(lines.file);
    return file != executed.lines.end() && file->second.contains(lines.line);
  });
}

}  // namespace vramfit::facts
