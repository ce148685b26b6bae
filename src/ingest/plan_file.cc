#include "ingest/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/json_text.h"
#include "base/nearest_word.h"
#include "ingest/plan_changes.h"
#include "model/plan_schema.h"

namespace vramfit::ingest {
namespace {

using base::ErrorCode;
using nlohmann::json;

std::unexpected<base::Error> corrupt(std::string what, std::string_view where) {
  return base::fail(ErrorCode::kCorrupt, std::move(what), std::string(where),
                    "docs/plans.md tells what a plan file holds; `vramfit fit` writes them");
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

// Whether the value fits a signed integer: a larger unsigned one would come out negative.
bool holds_integer(const json& value) {
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > most);
}

template <typename Variant>
std::optional<Variant> parse_plain(const json& value) {
  if (value.is_boolean()) return Variant(value.get<bool>());
  if (holds_integer(value)) return Variant(value.get<std::int64_t>());
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
    if (auto numbers = parse_list<std::int64_t>(value, holds_integer); numbers && !numbers->empty()) {
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

// nlohmann::json takes the last of two equal keys in silence, and objects of any depth.
class Objects {
 public:
  bool operator()(int, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      keys_.emplace_back();
      is_deep_ = is_deep_ || keys_.size() > kDeepest;
    } else if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) {
      keys_.pop_back();
    } else if (event == json::parse_event_t::key && !keys_.back().insert(value.get<std::string>()).second) {
      twice_ = value.get<std::string>();
    }
    return true;
  }
  std::string fault() const {
    if (is_deep_) return fmt::format("this is not a plan: it is more than {} levels deep", kDeepest);
    return twice_ ? fmt::format("\"{}\" stands twice in one object", *twice_) : "";
  }

 private:
  static constexpr std::size_t kDeepest = 8;
  std::vector<std::set<std::string>> keys_;
  bool is_deep_ = false;
  std::optional<std::string> twice_;
};

// "plan.json:3:14".
std::string place_of(std::string_view name, std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t end = before.rfind('\n');
  return fmt::format("{}:{}:{}", name, line, before.size() - (end == std::string_view::npos ? 0 : end + 1) + 1);
}

base::Result<json> parse_text(std::string_view text, std::string_view name) {
  try {
    Objects objects;
    json root = json::parse(text, std::ref(objects));
    if (const std::string fault = objects.fault(); !fault.empty()) return corrupt(fault, name);
    if (!root.is_object()) return corrupt("this is not a plan: no JSON object", name);
    return root;
  } catch (const json::parse_error& broken) {
    return corrupt("this is not a plan: what stands here is no JSON, or it ends too early",
                   place_of(name, text, broken.byte));
  } catch (const json::out_of_range&) {
    return corrupt("this is not a plan: it holds a number that is too large for any", name);
  }
}

// A technique that stands beside "techniques", spelled so or nearly so.
std::string meant_technique(const std::string& key, std::span<const model::TechniqueSchema> schema) {
  std::vector<std::string> ids;
  for (const model::TechniqueSchema& technique : schema) ids.emplace_back(technique.id);
  const auto meant = base::nearest_word(key, ids);
  return meant ? fmt::format(": did you mean {{\"id\": \"{}\"}} in its \"techniques\"?", *meant) : "";
}

base::Result<void> check_keys(const json& root, std::string_view name, std::span<const model::TechniqueSchema> schema) {
  const std::vector<std::string> known(std::begin(model::kPlanKeys), std::end(model::kPlanKeys));
  for (const auto& [key, value] : root.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const auto meant = base::nearest_word(key, known);
    return corrupt(fmt::format("a plan has no \"{}\"{}", key,
                               meant ? fmt::format(": did you mean \"{}\"?", *meant) : meant_technique(key, schema)),
                   name);
  }
  return {};
}

base::Result<int> parse_version(const json& root, std::string_view name, int newest) {
  const auto version = root.find("version");
  if (version == root.end()) return corrupt("a plan has a \"version\"", name);
  const bool is_known = version->is_number_integer() && *version >= 1 && *version <= newest;
  if (is_known) return version->get<int>();
  const std::string known = newest == 1 ? "1" : fmt::format("1 to {}", newest);
  return corrupt(fmt::format("this plan's version is {}; this vramfit reads {}", base::json_line(*version), known),
                 name);
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

std::string plan_to_json(const model::Plan& plan) {
  json techniques = json::array();
  for (const model::Change& change : plan.changes) {
    json object = {{"id", change.technique}};
    for (const auto& [key, setting] : change.settings) object[key] = setting_to_json(setting);
    techniques.push_back(std::move(object));
  }
  const json whole = {
      {"version", model::needed_plan_version(plan)}, {"name", plan.name}, {"techniques", std::move(techniques)}};
  return whole.dump(2) + "\n";
}

base::Result<std::vector<model::Change>> parse_changes(const json& techniques, std::string_view name) {
  if (!techniques.is_array()) return corrupt("a plan has a list \"techniques\"", name);
  std::vector<model::Change> changes;
  for (std::size_t i = 0; i < techniques.size(); ++i) {
    auto change = parse_change(techniques[i], fmt::format("{}: techniques[{}]", name, i));
    if (!change) return std::unexpected(change.error());
    changes.push_back(std::move(*change));
  }
  return changes;
}

base::Result<model::Plan> parse_plan(std::string_view text, std::string_view name,
                                     std::span<const model::TechniqueSchema> schema) {
  const auto parsed = parse_text(text, name);
  if (!parsed) return std::unexpected(parsed.error());
  const json& root = *parsed;
  const auto version = parse_version(root, name, model::newest_plan_version(schema));
  if (!version) return std::unexpected(version.error());
  if (auto known = check_keys(root, name, schema); !known) return std::unexpected(known.error());
  auto changes = parse_changes(root.value("techniques", json()), name);
  if (!changes) return std::unexpected(changes.error());
  model::Plan plan;
  if (const auto title = root.find("name"); title != root.end()) {
    if (!title->is_string()) return corrupt("a plan's \"name\" is a text", name);
    plan.name = *title;
  }
  for (std::size_t i = 0; i < changes->size(); ++i) {
    const model::Change& change = (*changes)[i];
    if (const int needed = model::needed_plan_version({"", {change}}, schema); needed > *version) {
      return corrupt(fmt::format("{} as it stands here came with version {} of plans, and this one says {}",
                                 change.technique, needed, *version),
                     fmt::format("{}: techniques[{}]", name, i));
    }
  }
  plan.changes = std::move(*changes);
  return plan;
}

base::Result<model::Plan> read_plan(const std::filesystem::path& path) {
  const auto text = base::read_file(path);
  if (!text) return std::unexpected(text.error());
  return parse_plan(*text, path.string());
}

base::Result<void> write_plan(const std::filesystem::path& path, const model::Plan& plan) {
  return base::write_file(path, plan_to_json(plan));
}

}  // namespace vramfit::ingest
