#include "ingest/plan_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"

namespace vramfit::ingest {
namespace {

using base::ErrorCode;
using nlohmann::json;

std::unexpected<base::Error> corrupt(std::string what, std::string_view where) {
  return base::fail(ErrorCode::kCorrupt, std::move(what), std::string(where),
                    "docs/architecture.md shows a plan file; `vramfit fit` writes them");
}

json setting_to_json(const model::Setting& setting) {
  return std::visit(
      [](const auto& value) -> json {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, model::Options>) {
          json object = json::object();
          for (const auto& [key, option] : value) {
            object[key] = std::visit([](const auto& plain) { return json(plain); }, option);
          }
          return object;
        } else {
          return json(value);
        }
      },
      setting);
}

template <typename Variant>
std::optional<Variant> parse_plain(const json& value) {
  if (value.is_boolean()) return Variant(value.get<bool>());
  if (value.is_number_integer()) return Variant(value.get<std::int64_t>());
  if (value.is_number()) return Variant(value.get<double>());
  if (value.is_string()) return Variant(value.get<std::string>());
  return std::nullopt;
}

template <typename T>
std::optional<std::vector<T>> parse_list(const json& list, bool (*is_right)(const json&)) {
  std::vector<T> values;
  for (const json& item : list) {
    if (!is_right(item)) return std::nullopt;
    values.push_back(item.get<T>());
  }
  return values;
}

std::optional<model::Setting> parse_setting(const json& value) {
  if (auto plain = parse_plain<model::Setting>(value)) return plain;
  if (value.is_array()) {
    if (auto numbers = parse_list<std::int64_t>(value, [](const json& item) { return item.is_number_integer(); });
        numbers && !numbers->empty()) {
      return *numbers;
    }
    return parse_list<std::string>(value, [](const json& item) { return item.is_string(); });
  }
  if (!value.is_object()) return std::nullopt;
  model::Options options;
  for (const auto& [key, option] : value.items()) {
    auto plain = parse_plain<model::Options::mapped_type>(option);
    if (!plain) return std::nullopt;
    options[key] = std::move(*plain);
  }
  return options;
}

base::Result<model::Change> parse_change(const json& object, const std::string& where) {
  if (!object.is_object() || !object.contains("id") || !object["id"].is_string()) {
    return corrupt("a technique is an object with an \"id\"", where);
  }
  model::Change change;
  for (const auto& [key, value] : object.items()) {
    if (key == "id") {
      change.technique = value.get<std::string>();
    } else if (auto setting = parse_setting(value)) {
      change.settings[key] = std::move(*setting);
    } else {
      return corrupt(fmt::format("\"{}\" is neither a value, a list of one type, nor options", key), where);
    }
  }
  return change;
}

}  // namespace

json to_json(const model::Plan& plan) {
  json techniques = json::array();
  for (const model::Change& change : plan.changes) {
    json object = {{"id", change.technique}};
    for (const auto& [key, setting] : change.settings) object[key] = setting_to_json(setting);
    techniques.push_back(std::move(object));
  }
  return {{"version", kPlanFileVersion}, {"name", plan.name}, {"techniques", std::move(techniques)}};
}

base::Result<model::Plan> parse_plan(std::string_view text, std::string_view name) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return corrupt("this is not a plan: no JSON object", name);
  if (root.value("version", json()) != json(kPlanFileVersion)) {
    return corrupt(fmt::format("this plan's version is not {}", kPlanFileVersion), name);
  }
  const auto techniques = root.find("techniques");
  if (techniques == root.end() || !techniques->is_array()) return corrupt("a plan has a list \"techniques\"", name);
  model::Plan plan;
  if (const auto title = root.find("name"); title != root.end() && title->is_string()) plan.name = *title;
  for (std::size_t i = 0; i < techniques->size(); ++i) {
    auto change = parse_change((*techniques)[i], fmt::format("{}: techniques[{}]", name, i));
    if (!change) return std::unexpected(change.error());
    plan.changes.push_back(std::move(*change));
  }
  return plan;
}

base::Result<model::Plan> read_plan(const std::filesystem::path& path) {
  const auto text = base::read_file(path);
  if (!text) return std::unexpected(text.error());
  return parse_plan(*text, path.string());
}

base::Result<void> write_plan(const std::filesystem::path& path, const model::Plan& plan) {
  return base::write_file(path, to_json(plan).dump(2) + "\n");
}

}  // namespace vramfit::ingest
