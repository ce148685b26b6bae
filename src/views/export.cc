#include "views/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/nearest_word.h"
#include "base/parse_number.h"
#include "report/exports/csv.h"
#include "report/exports/speedscope_json.h"
#include "report/exports/svg.h"
#include "report/exports/tensorboard.h"
#include "report/exports/trace_json.h"
#include "views/svg_raster.h"
#include "watch/recording.h"

namespace vramfit::views {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::Result;
using report::exports::CounterPoint;
using report::exports::ExportFacts;

namespace {

constexpr std::array<std::pair<std::string_view, ExportFormat>, 7> kFormats = {
    {{"perfetto", ExportFormat::kTrace},
     {"chrome", ExportFormat::kTrace},
     {"speedscope", ExportFormat::kSpeedscope},
     {"tensorboard", ExportFormat::kTensorboard},
     {"csv", ExportFormat::kCsv},
     {"svg", ExportFormat::kSvg},
     {"png", ExportFormat::kPng}}};

constexpr std::size_t kChartPoints = 1500;          // about what 960 units can show
constexpr std::size_t kTensorboardPoints = 10'000;  // it reads whole files into memory

Result<ExportFacts> facts_of(const std::string& what) {
  if (const auto number = base::parse_number<std::int64_t>(what)) return facts_of_run(*number);
  const auto file = base::MappedFile::open(what);
  if (!file) {
    base::Error error = file.error();
    if (error.remedy.empty()) error.remedy = "the number of a run, a memory snapshot, or a recording of vramfit watch";
    return std::unexpected(error);
  }
  const auto bytes = (*file)->bytes();
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4096));
  return watch::sniff_watch_recording(head) ? facts_of_watch(what) : facts_of_snapshot(what);
}

std::unexpected<base::Error> nothing_to_draw(std::string_view what) {
  return base::fail(ErrorCode::kNotFound, fmt::format("there is no {} in it", what), "",
                    "what each source holds: docs/export.md");
}

// A folder, because TensorBoard looks for its files in folders; of several, one folder each.
Result<Exported> write_events(const std::vector<ExportFacts>& exported, const fs::path& output) {
  Exported done;
  std::set<fs::path> taken;
  for (const ExportFacts& facts : exported) {
    fs::path folder = output;
    if (exported.size() > 1) {
      std::string name = facts.title;
      std::ranges::replace_if(
          name, [](char one) { return one == ' ' || one == '/'; }, '-');
      folder /= name;
    }
    std::error_code problem;
    fs::create_directories(folder, problem);
    if (problem) return base::fail(ErrorCode::kSystem, "cannot make the folder: " + problem.message(), folder.string());
    const fs::path file = folder / report::exports::event_file_name(facts);
    if (!taken.insert(file).second) continue;  // named twice
    if (auto written = base::write_file(file, counters_to_events(facts)); !written) {
      return std::unexpected(written.error());
    }
    done.files.push_back(file);
  }
  return done;
}

bool has_points(const std::vector<ExportFacts>& exported) {
  return std::ranges::any_of(exported, [](const ExportFacts& facts) {
    return std::ranges::any_of(facts.counters, [](const auto& counter) { return !counter.points.empty(); });
  });
}

Result<std::string> render(const std::vector<ExportFacts>& exported, const ExportRequest& request) {
  switch (request.format) {
    case ExportFormat::kTrace:
      return trace_to_json(exported, request.version);
    case ExportFormat::kCsv:
      return counters_to_csv(exported);
    case ExportFormat::kSpeedscope:
      if (std::ranges::all_of(exported, [](const ExportFacts& facts) { return facts.profiles.empty(); })) {
        return nothing_to_draw("word about what held the peak");
      }
      return profiles_to_speedscope(exported, request.version);
    default:
      break;
  }
  std::string svg = charts_to_svg(exported);
  if (svg.empty()) return nothing_to_draw("memory over time");
  return request.format == ExportFormat::kPng ? svg_to_png(svg) : Result<std::string>(std::move(svg));
}

std::size_t most_points(const ExportRequest& request) {
  const bool is_chart = request.format == ExportFormat::kSvg || request.format == ExportFormat::kPng;
  const std::size_t most = is_chart                                       ? kChartPoints
                           : request.format == ExportFormat::kTensorboard ? kTensorboardPoints
                                                                          : request.most_points;
  return std::min(most, request.most_points);
}

}  // namespace

std::vector<std::string> export_formats() {
  std::vector<std::string> names;
  for (const auto& [name, format] : kFormats) names.emplace_back(name);
  return names;
}

Result<ExportFormat> parse_export_format(std::string_view word) {
  for (const auto& [name, format] : kFormats) {
    if (name == word) return format;
  }
  return base::fail(ErrorCode::kUsage,
                    fmt::format("not a format: \"{}\"{}", word, base::did_you_mean(word, export_formats())), "--to",
                    "perfetto, chrome, speedscope, tensorboard, csv, svg or png");
}

std::optional<ExportFormat> guess_export_format(const fs::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with(".speedscope.json")) return ExportFormat::kSpeedscope;
  if (name.ends_with(".json")) return ExportFormat::kTrace;
  for (const auto& [word, format] : kFormats) {
    if (name.ends_with(fmt::format(".{}", word))) return format;
  }
  return std::nullopt;
}

void thin(std::vector<CounterPoint>& points, std::size_t most) {
  if (points.size() <= most || most < 4) return;
  const std::size_t buckets = (most - 2) / 2;  // two of each; the first and the last stay
  std::vector<CounterPoint> kept = {points.front()};
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(1 + bucket * (points.size() - 2) / buckets);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(1 + (bucket + 1) * (points.size() - 2) / buckets);
    auto [least, largest] = std::minmax_element(
        begin, end, [](const CounterPoint& left, const CounterPoint& right) { return left.value < right.value; });
    if (largest < least) std::swap(least, largest);
    kept.push_back(*least);
    if (least != largest) kept.push_back(*largest);
  }
  kept.push_back(points.back());
  points = std::move(kept);
}

Result<Exported> export_for_others(const ExportRequest& request) {
  std::vector<ExportFacts> exported;
  std::vector<std::string> damage;
  for (const std::string& what : request.what) {
    auto facts = facts_of(what);
    if (!facts) return std::unexpected(facts.error());
    for (auto& counter : facts->counters) thin(counter.points, most_points(request));
    if (!facts->damage.empty()) damage.push_back(facts->title + ": " + facts->damage);
    exported.push_back(std::move(*facts));
  }
  const bool needs_points = request.format == ExportFormat::kTensorboard || request.format == ExportFormat::kCsv;
  if (needs_points && !has_points(exported)) return nothing_to_draw("memory over time");
  if (request.format == ExportFormat::kTensorboard) {
    auto written = write_events(exported, request.output);
    if (written) written->damage = std::move(damage);
    return written;
  }
  auto text = render(exported, request);
  if (!text) return std::unexpected(text.error());
  return Exported{.text = std::move(*text), .files = {}, .damage = std::move(damage)};
}

}  // namespace vramfit::views
