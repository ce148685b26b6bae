#include "report/fit_json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "base/json_text.h"
#include "report/json_members.h"
#include "report/json_parts.h"

namespace vramfit::report {
namespace {

using nlohmann::ordered_json;

ordered_json setting_json(const model::Setting& setting) {
  return std::visit(
      [](const auto& value) -> ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, model::Options>) {
          ordered_json object = ordered_json::object();
          for (const auto& [key, option] : value) {
            object[key] = std::visit([](const auto& plain) { return ordered_json(plain); }, option);
          }
          return object;
        } else {
          return ordered_json(value);
        }
      },
      setting);
}

ordered_json changes_json(const model::Plan& plan) {
  ordered_json changes = ordered_json::array();
  for (const model::Change& change : plan.changes) {
    ordered_json object = {{"id", change.technique}};
    for (const auto& [key, setting] : change.settings) object[key] = setting_json(setting);
    changes.push_back(std::move(object));
  }
  return changes;
}

ordered_json predicted_json(const model::PlanRow& row) {
  ordered_json predicted = {{"needs_bytes", row.predicted.count()}, {"peak_bytes", row.predicted_peak.count()}};
  if (row.predicted_error > 0) {
    predicted["low_bytes"] = row.predicted_low.count();
    predicted["high_bytes"] = row.predicted_high.count();
    predicted["error"] = row.predicted_error;
    predicted["by"] = row.predicted_by;
  }
  predicted["source"] = "model";
  return predicted;
}

// A plan in the script's own source.
ordered_json source_json(const model::Patch& patch) {
  std::string diff;
  for (const model::PatchedFile& file : patch.files) diff += file.diff;
  ordered_json left = ordered_json::array();
  for (const model::UnpatchedTechnique& one : patch.left) left.push_back({{"id", one.id}, {"reason", one.reason}});
  return {{"root", patch.root}, {"diff", diff}, {"done", patch.done}, {"left", std::move(left)}};
}

ordered_json plan_json(const model::PlanRow& row) {
  ordered_json proven = nullptr;
  if (row.proven) {
    proven = {{"peak_allocated_bytes", row.proven->allocated.count()},
              {"peak_reserved_bytes", row.proven->reserved.count()},
              {"peak_device_bytes", row.proven->device.count()},
              {"allocation_retries", row.retries},
              {"wall_seconds", row.wall_seconds},
              {"source", "run"}};
  }
  return {{"name", row.plan.name},
          {"techniques", changes_json(row.plan)},
          {"standing", to_string(row.standing)},
          {"predicted", predicted_json(row)},
          {"proven", std::move(proven)},
          {"time", {{"factor", row.time_factor}, {"low", row.time_low}, {"high", row.time_high}, {"source", "model"}}},
          {"tight", row.is_tight},
          {"effect", row.effect},
          {"consequences", row.consequences},
          {"reason", or_null(row.reason)},
          {"equivalence", row.equivalence ? equivalence_json(*row.equivalence) : ordered_json(nullptr)},
          {"source", row.patch ? source_json(*row.patch) : ordered_json(nullptr)}};
}

ordered_json plans_json(const std::vector<model::PlanRow>& rows) {
  ordered_json list = ordered_json::array();
  for (const model::PlanRow& row : rows) list.push_back(plan_json(row));
  return list;
}

ordered_json techniques_json(const model::FitResult& result) {
  ordered_json list = ordered_json::array();
  for (const model::TechniqueRow& row : result.techniques) {
    list.push_back({{"id", row.id}, {"standing", row.standing}, {"reason", or_null(row.reason)}});
  }
  return list;
}

ordered_json hardware_json(const model::FitResult& result) {
  ordered_json list = ordered_json::array();
  for (const model::HardwareRow& row : result.hardware) {
    list.push_back({{"card", row.key},
                    {"name", row.name},
                    {"count", row.count},
                    {"with_plan", row.with_plan},
                    {"needs_bytes", row.needs.count()},
                    {"memory_bytes", row.memory.count()},
                    {"price_factor", row.price},
                    {"time_factor", row.time_factor},
                    {"time_low", row.time_low},
                    {"time_high", row.time_high},
                    {"proven", row.proven}});
  }
  return list;
}

ordered_json remedies_json(const model::Floor& floor) {
  ordered_json list = ordered_json::array();
  for (const model::FloorRemedy& remedy : floor.remedies) {
    list.push_back(
        {{"text", remedy.text}, {"frees_bytes", remedy.frees.count()}, {"leaves_bytes", remedy.leaves.count()}});
  }
  return list;
}

ordered_json floor_cards_json(const model::Floor& floor) {
  ordered_json list = ordered_json::array();
  for (const model::FloorCards& cards : floor.cards) {
    list.push_back({{"card", cards.card}, {"count", cards.count}, {"each_bytes", cards.each.count()}});
  }
  return list;
}

}  // namespace

std::string fit_to_json(const model::FitResult& result, std::string_view version) {
  ordered_json json = run_json(result.as_is, version);
  ordered_json fit = {{"verdict", to_string(result.verdict)},
                      {"reason", or_null(result.reason)},
                      {"card", result.card},
                      {"card_index", result.card_index},
                      {"cards", result.cards},
                      {"limit_bytes", result.limit.count()},
                      {"plans", plans_json(result.plans)},
                      {"lost", plans_json(result.lost)},
                      {"foreseen", plans_json(result.foreseen)},
                      {"front", plans_json(result.front)},
                      {"techniques", techniques_json(result)},
                      {"cheapest_known", result.cheapest_known},
                      {"only_foreseen", result.only_foreseen},
                      {"interrupted", result.was_interrupted},
                      {"plan_file", or_null(result.plan_file)},
                      {"prove_command", or_null(result.prove_command)},
                      {"patch_command", or_null(result.patch_command)},
                      {"train_command", or_null(result.train_command)},
                      {"seconds", result.seconds},
                      {"budget_seconds", result.budget_seconds},
                      {"runs", result.runs},
                      {"candidates", result.candidates},
                      {"ruled_out", result.ruled_out}};
  fit["floor"] = result.floor ? ordered_json{{"weights_bytes", result.floor->weights.count()},
                                             {"moved_bytes", result.floor->moved.count()},
                                             {"gradients_bytes", result.floor->gradients.count()},
                                             {"optimizer_bytes", result.floor->optimizer.count()},
                                             {"context_bytes", result.floor->context.count()},
                                             {"transient_bytes", result.floor->transient.count()},
                                             {"owner", or_null(result.floor->owner)},
                                             {"remedies", remedies_json(*result.floor)},
                                             {"cards", floor_cards_json(*result.floor)},
                                             {"sum_bytes", result.floor->sum().count()}}
                              : ordered_json(nullptr);
  fit["advice"] = result.advice;
  fit["hardware"] = hardware_json(result);
  fit["goal"] = to_string(result.goal);
  fit["largest_batch"] = result.largest_batch ? ordered_json{{"size", result.largest_batch->size},
                                                             {"own", result.largest_batch->own},
                                                             {"exact", result.largest_batch->is_exact},
                                                             {"all_data", result.largest_batch->is_all_data}}
                                              : ordered_json(nullptr);
  fit["cause"] = result.cause ? ordered_json{{"text", result.cause->text},
                                             {"line", or_null(result.cause->line)},
                                             {"remedy", result.cause->remedy}}
                              : ordered_json(nullptr);
  fit["free_run"] = result.free_run ? run_json(*result.free_run, version) : ordered_json(nullptr);
  json["fit"] = std::move(fit);
  return base::json_file(json);
}

}  // namespace vramfit::report
