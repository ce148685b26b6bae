// The use case behind `vramfit export`: stored runs, memory snapshots and recordings of watch, for other programs.
#ifndef VRAMFIT_VIEWS_EXPORT_H
#define VRAMFIT_VIEWS_EXPORT_H

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "report/exports/facts.h"

namespace vramfit::views {

enum class ExportFormat { kTrace, kSpeedscope, kTensorboard, kCsv, kSvg, kPng };
// perfetto, chrome, speedscope, tensorboard, csv, svg, png.
std::vector<std::string> export_formats();
base::Result<ExportFormat> parse_export_format(std::string_view word);
// Guesses the format from the file's name, where none was named.
std::optional<ExportFormat> guess_export_format(const std::filesystem::path& file);

struct ExportRequest {
  std::vector<std::string> what;  // numbers of runs, files
  ExportFormat format = ExportFormat::kTrace;
  std::filesystem::path output;       // "-": stdout is told by the caller; TensorBoard: a folder
  std::size_t most_points = 100'000;  // of a counter
  std::string version;
};

struct Exported {
  std::string text;  // what is to be written; empty: `files` are written already
  std::vector<std::filesystem::path> files;
  std::vector<std::string> damage;  // what of the sources could not be read
};
base::Result<Exported> export_for_others(const ExportRequest& request);

// The data that each source gives; export_run.cc, export_snapshot.cc, export_watch.cc.
base::Result<report::exports::ExportFacts> facts_of_run(std::int64_t number);
base::Result<report::exports::ExportFacts> facts_of_snapshot(const std::filesystem::path& file);
base::Result<report::exports::ExportFacts> facts_of_watch(const std::filesystem::path& file);

// Leaves at most so many points: the lowest and the highest of each group stay, so that no peak is lost.
void thin(std::vector<report::exports::CounterPoint>& points, std::size_t most);

}  // namespace vramfit::views

#endif
