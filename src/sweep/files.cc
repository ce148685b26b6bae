#include "sweep/files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/file.h"
#include "ingest/sweep_file.h"

namespace vramfit::sweep {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;

fs::path SweepFolder::of(std::size_t trial, const char* ending) const {
  return path_ / "trials" / fmt::format("{}{}", trial, ending);
}

namespace {

std::string told(const std::vector<std::string>& words) {
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, " "));
}

std::string told(const model::SweepSpec& spec) {
  std::vector<std::string> all;
  for (const model::SweepVariable& variable : spec.variables) {
    all.push_back(fmt::format("{}={}", variable.name, fmt::join(variable.values, ",")));
  }
  return told(all);
}

std::string told(const std::optional<model::SweepGoal>& goal) {
  return goal ? fmt::format("{}={}..{}", goal->name, goal->low, goal->high) : "nothing";
}

// What makes `wanted` another sweep than the folder's. How long a trial may take is no part of what it is.
std::string difference(const model::SweepSpec& known, const model::SweepSpec& wanted) {
  std::vector<std::string> parts;
  const auto compare = [&](const char* part, bool same, const std::string& there, const std::string& here) {
    if (!same) parts.push_back(fmt::format("{}: {} there, {} here", part, there, here));
  };
  compare("--gpu", known.gpus == wanted.gpus, told(known.gpus), told(wanted.gpus));
  compare("options", known.options == wanted.options, told(known.options), told(wanted.options));
  compare("command", known.command == wanted.command, told(known.command), told(wanted.command));
  compare("--vary", known.variables == wanted.variables, told(known), told(wanted));
  compare("--find-max", known.goal == wanted.goal, told(known.goal), told(wanted.goal));
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Somebody's own files: a sweep begins with sweep.json, before which there is an empty folder of trials at most.
bool is_foreign(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / "sweep.json", error)) return false;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename() != "trials" || !fs::is_empty(entry.path(), error)) return true;
  }
  return false;
}

}  // namespace

Result<void> SweepFolder::prepare(const model::SweepSpec& spec) const {
  if (is_foreign(path_)) {
    return fail(ErrorCode::kUsage, "the folder is not empty, and no sweep's", path_.string(),
                "name a new or empty one with --out");
  }
  std::error_code error;
  fs::create_directories(path_ / "trials", error);
  if (error) return fail(ErrorCode::kSystem, "cannot make the sweep's folder: " + error.message(), path_.string());
  if (fs::exists(path_ / "sweep.json", error)) {
    const auto known = read_spec();
    if (!known) return std::unexpected(known.error());
    const std::string differs = difference(*known, spec);
    if (!differs.empty()) {
      return fail(ErrorCode::kUsage, fmt::format("the folder holds another sweep ({})", differs), path_.string(),
                  "name another one with --out, or remove it");
    }
    if (*known == spec) return {};
  }
  return base::write_file(path_ / "sweep.json", ingest::sweep_to_json(spec));
}

Result<model::SweepSpec> SweepFolder::read_spec() const {
  const fs::path file = path_ / "sweep.json";
  const auto text = base::read_file(file);
  if (!text) return std::unexpected(text.error());
  return ingest::parse_sweep_json(*text, file.string());
}

Result<void> SweepFolder::write_values(std::size_t trial, const std::vector<std::string>& values) const {
  return base::write_file(of(trial, ".values.json"), ingest::words_to_json(values));
}

Result<std::vector<std::string>> SweepFolder::read_values(std::size_t trial) const {
  const fs::path file = of(trial, ".values.json");
  const auto text = base::read_file(file);
  if (!text) return std::unexpected(text.error());
  return ingest::parse_words(*text, file.string());
}

Result<void> SweepFolder::write_run(std::size_t trial, const std::string& uuid) const {
  return base::write_file(of(trial, ".run"), uuid);
}

std::string SweepFolder::read_run(std::size_t trial) const {
  return base::read_file(of(trial, ".run")).value_or(std::string());
}

std::size_t SweepFolder::count() const {
  std::size_t trials = 0;
  std::error_code ignored;
  while (fs::exists(of(trials, ".values.json"), ignored)) ++trials;
  return trials;
}

std::optional<model::TrialResult> SweepFolder::read_result(std::size_t trial) const {
  const auto text = base::read_file(result_file(trial));
  if (!text) return std::nullopt;
  const auto result = ingest::parse_trial_result(*text, result_file(trial).string());
  // Somebody ended it before it could tell: a cluster that takes the node back, Ctrl-C.
  if (!result || result->verdict == "interrupted") return std::nullopt;
  return *result;
}

Result<void> SweepFolder::write_result(std::size_t trial, const model::TrialResult& result) const {
  return base::write_file(result_file(trial), ingest::trial_result_to_json(result));
}

}  // namespace vramfit::sweep
