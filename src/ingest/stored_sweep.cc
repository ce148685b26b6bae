#include "ingest/stored_sweep.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "ingest/stored_fields.h"

namespace vramfit::ingest {

using base::Bytes;
using model::SweepSpec;
using model::Trial;
using model::TrialState;
using nlohmann::json;

namespace {

template <class T>
std::optional<T> optional(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? std::nullopt : std::optional<T>(found->get<T>());
}

SweepSpec read_stored_spec(const json& file) {
  SweepSpec spec;
  spec.gpus = file.at("gpus").get<std::vector<std::string>>();
  spec.command = file.at("command").get<std::vector<std::string>>();
  for (const json& row : file.at("variables")) {
    spec.variables.push_back({text(row, "name"), row.at("values").get<std::vector<std::string>>()});
  }
  if (const auto goal = optional<std::string>(file, "find_max")) {
    spec.goal = model::SweepGoal{.name = *goal};
    // Sweeps of earlier versions did not keep it.
    if (const auto range = optional<std::array<std::int64_t, 2>>(file, "find_max_range")) {
      spec.goal->low = range->at(0);
      spec.goal->high = range->at(1);
    }
  }
  return spec;
}

// The values in the order of the variables, the goal last.
std::vector<std::string> read_values(const SweepSpec& spec, const json& row, bool with_goal) {
  std::vector<std::string> values;
  for (const model::SweepVariable& variable : spec.variables) {
    values.push_back(row.at(variable.name).get<std::string>());
  }
  if (spec.goal && with_goal) values.push_back(row.at(spec.goal->name).get<std::string>());
  return values;
}

TrialState read_state(const std::string& word) {
  for (const TrialState state : {TrialState::kWaiting, TrialState::kRunning, TrialState::kDone, TrialState::kLost}) {
    if (to_string(state) == word) return state;
  }
  throw json::other_error::create(600, "unknown state: " + word, nullptr);
}

Trial read_trial(const SweepSpec& spec, const json& row) {
  Trial trial{.index = whole<std::size_t>(row.at("index")),
              .values = read_values(spec, row.at("values"), true),
              .state = read_state(text(row, "state")),
              .result = {},
              .run = text(row, "run_uuid")};
  if (trial.state != TrialState::kDone) return trial;
  trial.result.verdict = row.at("verdict").get<std::string>();
  trial.result.reason = text(row, "reason");
  trial.result.exit_code = whole_or(row, "exit_code", 0);
  trial.result.wall_seconds = row.value("wall_seconds", 0.0);
  trial.result.total = Bytes(optional<std::int64_t>(row, "total_bytes").value_or(0));
  if (const auto device = optional<std::int64_t>(row, "peak_device_bytes")) {
    trial.result.peaks =
        model::Peaks{Bytes(optional<std::int64_t>(row, "peak_allocated_bytes").value_or(0)),
                     Bytes(optional<std::int64_t>(row, "peak_reserved_bytes").value_or(0)), Bytes(*device)};
  }
  return trial;
}

}  // namespace

base::Result<model::SweepResult> read_stored_sweep(std::string_view written) {
  try {
    const json file = json::parse(written);
    model::SweepResult result;
    result.spec = read_stored_spec(file);
    result.folder = text(file, "folder");
    result.interrupted = file.at("interrupted").get<bool>();
    result.seconds = file.at("seconds").get<double>();
    for (const json& row : file.at("trials")) result.trials.push_back(read_trial(result.spec, row));
    for (const json& row : file.at("largest")) {
      result.largest.push_back({.values = read_values(result.spec, row.at("values"), false),
                                .fits = optional<std::int64_t>(row, "fits"),
                                .too_large = optional<std::int64_t>(row, "too_large"),
                                .obstacle = text(row, "obstacle"),
                                .is_borderline = row.value("too_large_is_borderline", false)});
    }
    return result;
  } catch (const json::exception& problem) {
    return base::fail(base::ErrorCode::kCorrupt, fmt::format("this is no sweep's result: {}", problem.what()));
  }
}

}  // namespace vramfit::ingest
