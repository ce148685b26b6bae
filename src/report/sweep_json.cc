#include "report/sweep_json.h"

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/json_parts.h"
#include "report/schemas.h"

namespace vramfit::report {

using nlohmann::ordered_json;

namespace {

ordered_json values_json(const model::SweepSpec& spec, const std::vector<std::string>& values) {
  ordered_json json = ordered_json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    json[i < spec.variables.size() ? spec.variables[i].name : spec.goal->name] = values[i];
  }
  return json;
}

ordered_json trial_json(const model::SweepSpec& spec, const model::Trial& trial) {
  ordered_json json = {{"index", trial.index},
                       {"values", values_json(spec, trial.values)},
                       {"state", to_string(trial.state)},
                       {"run_uuid", trial.run.empty() ? ordered_json(nullptr) : ordered_json(trial.run)}};
  if (trial.state != model::TrialState::kDone) return json;
  const model::TrialResult& result = trial.result;
  json["verdict"] = result.verdict;
  json["reason"] = result.reason;
  json["exit_code"] = result.exit_code;
  json["wall_seconds"] = result.wall_seconds;
  json["untested"] = result.untested;
  json["total_bytes"] = result.peaks ? ordered_json(result.total.count()) : ordered_json(nullptr);
  json["peak_allocated_bytes"] = result.peaks ? ordered_json(result.peaks->allocated.count()) : ordered_json(nullptr);
  json["peak_reserved_bytes"] = result.peaks ? ordered_json(result.peaks->reserved.count()) : ordered_json(nullptr);
  json["peak_device_bytes"] = result.peaks ? ordered_json(result.peaks->device.count()) : ordered_json(nullptr);
  return json;
}

}  // namespace

std::string sweep_to_json(const model::SweepResult& result, std::string_view version) {
  ordered_json trials = ordered_json::array();
  for (const model::Trial& trial : result.trials) trials.push_back(trial_json(result.spec, trial));
  ordered_json variables = ordered_json::array();
  for (const model::SweepVariable& variable : result.spec.variables) {
    variables.push_back({{"name", variable.name}, {"values", variable.values}});
  }
  ordered_json largest = ordered_json::array();
  for (const model::Largest& found : result.largest) {
    largest.push_back({{"values", values_json(result.spec, found.values)},
                       {"fits", or_null(found.fits)},
                       {"too_large", or_null(found.too_large)},
                       {"too_large_is_borderline", found.is_borderline},
                       {"obstacle", found.obstacle}});
  }
  const ordered_json json = {
      {"schema", kSweepSchema},
      {"vramfit", version},
      {"gpus", result.spec.gpus},
      {"command", result.spec.command},
      {"variables", std::move(variables)},
      {"find_max", result.spec.goal ? ordered_json(result.spec.goal->name) : ordered_json(nullptr)},
      {"find_max_range",
       result.spec.goal ? ordered_json({result.spec.goal->low, result.spec.goal->high}) : ordered_json(nullptr)},
      {"folder", result.folder},
      {"interrupted", result.interrupted},
      {"seconds", result.seconds},
      {"trials", std::move(trials)},
      {"largest", std::move(largest)}};
  return base::json_file(json);
}

}  // namespace vramfit::report
