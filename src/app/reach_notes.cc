#include "app/reach_notes.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "model/note_fields.h"

namespace vramfit::app {

using model::integer_of;
using model::Note;
using model::Reach;
using model::Recording;
using model::text_of;
using nlohmann::json;

namespace {

constexpr int kMostLines = 1'000'000;  // of one file: a range beyond is no range

template <class Act>
void for_each_note(std::span<const Recording> recordings, std::string_view kind, Act act) {
  for (const Recording& recording : recordings) {
    for (const Note& note : recording.notes) {
      if (note.kind == kind) act(note.fields);
    }
  }
}

void add_ranges(const json& ranges, std::set<int>& lines) {
  if (!ranges.is_array()) return;
  for (const json& range : ranges) {
    if (!range.is_array() || range.size() != 2 || !range[0].is_number_integer() || !range[1].is_number_integer()) {
      continue;
    }
    const int first = range[0].get<int>(), last = std::min(range[1].get<int>(), kMostLines);
    for (int line = std::max(first, 0); line <= last; ++line) lines.insert(line);
  }
}

void add_places(const json& places, std::set<std::pair<int, int>>& parts) {
  if (!places.is_array()) return;
  for (const json& place : places) {
    if (!place.is_array() || place.size() != 2 || !place[0].is_number_integer() || !place[1].is_number_integer()) {
      continue;
    }
    parts.emplace(place[0].get<int>(), place[1].get<int>());
  }
}

template <class Add, class Into>
void read_files(const json& fields, const char* name, Add add, Into& into) {
  const auto files = fields.find(name);
  if (files == fields.end() || !files->is_object()) return;
  for (const auto& [file, places] : files->items()) add(places, into[file]);
}

model::Unreached unreached_of(const json& fields) {
  const std::string card = text_of(fields, "card"), why = text_of(fields, "why");
  return {text_of(fields, "file"),
          static_cast<int>(integer_of(fields, "line")),
          static_cast<int>(integer_of(fields, "last_line")),
          text_of(fields, "place"),
          text_of(fields, "code"),
          why.empty() ? text_of(fields, "when") : why,
          card == "yes" || card == "no" ? card : "unknown",
          static_cast<int>(integer_of(fields, "column"))};
}

void apply_coverage(const json& fields, Reach& reach) {
  for (const json& each : model::list_of(fields, "unreached")) {
    if (!each.is_object()) continue;
    model::Unreached lines = unreached_of(each);
    const auto same = [&](const model::Unreached& known) {
      return known.file == lines.file && known.line == lines.line && known.column == lines.column &&
             known.when == lines.when;
    };
    if (std::ranges::none_of(reach.unreached, same)) reach.unreached.push_back(std::move(lines));
  }
  const std::int64_t of = integer_of(fields, "lines");
  if (of <= 0) return;
  const double share = std::min(1.0, static_cast<double>(integer_of(fields, "lines_run")) / static_cast<double>(of));
  reach.lines_run = std::max(reach.lines_run.value_or(0), share);  // ranks run the same script
}

// Of several processes' budgets that of the one that got furthest.
void apply_run_on(const json& fields, Reach& reach) {
  const std::int64_t count = integer_of(fields, "count");
  if (count <= reach.batches) return;
  reach.batches = count;
  reach.peak_at = integer_of(fields, "peak_at");
  const auto seconds = fields.find("seconds");
  reach.seconds = seconds != fields.end() && seconds->is_number() ? seconds->get<double>() : 0;
}

void apply_looked(const json& fields, Reach& reach) {
  const std::int64_t of = integer_of(fields, "of", -1);
  model::LookedAt looked{static_cast<int>(integer_of(fields, "loader")), integer_of(fields, "samples"),
                         of >= 0 ? std::optional(of) : std::nullopt, model::flag_of(fields, "differ")};
  if (std::ranges::find(reach.looked, looked) == reach.looked.end()) reach.looked.push_back(looked);
}

}  // namespace

Reach read_reach(std::span<const Recording> recordings, bool ended) {
  Reach reach;
  bool was_cut = false, watched = true, seen = false;
  for_each_note(recordings, "cut", [&](const json& fields) { was_cut |= text_of(fields, "what") != "saves"; });
  for_each_note(recordings, "run_on", [&](const json& fields) { apply_run_on(fields, reach); });
  for_each_note(recordings, "coverage", [&](const json& fields) {
    seen = true;
    watched &= model::flag_of(fields, "known");
    apply_coverage(fields, reach);
  });
  for_each_note(recordings, "looked", [&](const json& fields) { apply_looked(fields, reach); });
  for_each_note(recordings, "open", [&](const json& fields) {
    if (std::ranges::find(reach.open, text_of(fields, "text")) == reach.open.end()) {
      reach.open.push_back(text_of(fields, "text"));
    }
  });
  reach.watched = seen && watched;
  reach.whole = ended && !was_cut;
  drop_executed(read_executed(recordings), reach);
  return reach;
}

bool was_counted_on(std::span<const Recording> recordings) {
  bool found = false;
  for_each_note(recordings, "cut", [&](const json& fields) { found |= text_of(fields, "what") == "counted"; });
  return found;
}

Executed read_executed(std::span<const Recording> recordings) {
  Executed executed;
  for_each_note(recordings, "coverage", [&](const json& fields) {
    read_files(fields, "executed", add_ranges, executed.lines);
    read_files(fields, "parts", add_places, executed.parts);
  });
  return executed;
}

void drop_executed(const Executed& executed, Reach& reach) {
  std::erase_if(reach.unreached, [&](const model::Unreached& lines) {
    // The other side of an expression whose line was executed: coverage/crossings.py.
    if (lines.when.starts_with("once ")) return false;
    if (lines.column > 0) {
      const auto parts = executed.parts.find(lines.file);
      return parts != executed.parts.end() && parts->second.contains({lines.line, lines.column});
    }
    const auto file = executed.lines.find(lines.file);
    return file != executed.lines.end() && file->second.contains(lines.line);
  });
}

}  // namespace vramfit::app
