#include "report/plan_schema_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace vramfit::report {
namespace {

using model::SettingForm;
using model::SettingSchema;
using model::TechniqueSchema;
using nlohmann::ordered_json;

bool has_most(const SettingSchema& setting) { return setting.most < model::kNoMost; }

ordered_json number_to_schema(const SettingSchema& setting, bool whole) {
  ordered_json schema = {{"type", whole ? "integer" : "number"}};
  const auto plain = [](double value) -> ordered_json {
    return value == static_cast<double>(static_cast<std::int64_t>(value))
               ? ordered_json(static_cast<std::int64_t>(value))
               : ordered_json(value);
  };
  schema[setting.above_least ? "exclusiveMinimum" : "minimum"] = plain(setting.least);
  if (has_most(setting)) schema["maximum"] = plain(setting.most);
  return schema;
}

ordered_json text_to_schema(const SettingSchema& setting) {
  ordered_json schema = {{"type", "string"}};
  if (setting.words.empty()) schema["minLength"] = 1;
  for (const std::string_view word : setting.words) schema["enum"].push_back(word);
  return schema;
}

ordered_json list_of(ordered_json items, bool repeats = false) {
  ordered_json list = {{"type", "array"}, {"items", std::move(items)}, {"minItems", 1}};
  if (!repeats) list["uniqueItems"] = true;
  return list;
}

ordered_json form_to_schema(const SettingSchema& setting) {
  switch (setting.form) {
    case SettingForm::kFlag:
      return {{"type", "boolean"}};
    case SettingForm::kWhole:
      return number_to_schema(setting, true);
    case SettingForm::kNumber:
      return number_to_schema(setting, false);
    case SettingForm::kText:
      return text_to_schema(setting);
    case SettingForm::kWholes:
      return list_of(number_to_schema(setting, true), setting.repeats);
    case SettingForm::kTexts:
      return list_of(text_to_schema(setting));
    case SettingForm::kOptions:
      return {{"type", "object"}, {"additionalProperties", {{"type", {"boolean", "number", "string"}}}}};
  }
  return {};
}

ordered_json technique_to_schema(const TechniqueSchema& technique) {
  ordered_json properties = {{"id", {{"const", technique.id}}}};
  ordered_json required = {"id"};
  for (const SettingSchema& setting : technique.settings) {
    ordered_json schema = form_to_schema(setting);
    schema["description"] = setting.meaning;
    if (!setting.left_out.empty()) schema["default"] = ordered_json::parse(setting.left_out);
    properties[std::string(setting.name)] = std::move(schema);
    if (setting.needed) required.push_back(setting.name);
  }
  ordered_json schema = {{"type", "object"},
                         {"description", technique.meaning},
                         {"properties", std::move(properties)},
                         {"required", std::move(required)},
                         {"additionalProperties", false}};
  if (technique.needs_one) schema["minProperties"] = 2;
  return schema;
}

std::string form_to_text(const SettingSchema& setting) {
  const std::string words = fmt::format("`{}`", fmt::join(setting.words, "`, `"));
  const std::string most = setting.most < 1 ? fmt::format("{}", setting.most) : fmt::format("{:.0f}", setting.most);
  const std::string range = fmt::format("{} {}{}", setting.above_least ? "above" : "from", setting.least,
                                        has_most(setting) ? " to " + most : " on");
  switch (setting.form) {
    case SettingForm::kFlag:
      return "true or false";
    case SettingForm::kWhole:
      return "whole number " + range;
    case SettingForm::kNumber:
      return "number " + range;
    case SettingForm::kText:
      return setting.words.empty() ? "text" : words;
    case SettingForm::kWholes:
      return "list of whole numbers " + range;
    case SettingForm::kTexts:
      return setting.words.empty() ? "list of texts" : "list of " + words;
    case SettingForm::kOptions:
      return "object";
  }
  return "";
}

}  // namespace

std::string plan_schema_to_json(std::span<const TechniqueSchema> schema) {
  ordered_json techniques = ordered_json::array();
  for (const TechniqueSchema& technique : schema) techniques.push_back(technique_to_schema(technique));
  ordered_json list = {{"type", "array"}, {"minItems", 1}};
  list["items"]["oneOf"] = std::move(techniques);
  ordered_json version = {{"type", "integer"}, {"minimum", 1}, {"maximum", model::newest_plan_version(schema)}};
  ordered_json properties = {{"version", std::move(version)}, {"name", {{"type", "string"}}}};
  properties["techniques"] = std::move(list);
  const ordered_json whole = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                              {"title", "vramfit plan"},
                              {"description", "Changes to a PyTorch job, as vramfit applies them. docs/plans.md."},
                              {"type", "object"},
                              {"properties", std::move(properties)},
                              {"required", {"version", "techniques"}},
                              {"additionalProperties", false}};
  return whole.dump(1) + "\n";
}

std::string plan_schema_to_table(std::span<const TechniqueSchema> schema) {
  std::string table = "| technique | setting | value | left out | since |\n|---|---|---|---|---|\n";
  for (const TechniqueSchema& technique : schema) {
    table += fmt::format("| `{}` | | {} | | {} |\n", technique.id, technique.meaning, technique.since);
    for (const SettingSchema& setting : technique.settings) {
      const std::string left_out = setting.needed             ? "needed"
                                   : setting.left_out.empty() ? ""
                                                              : fmt::format("`{}`", setting.left_out);
      table += fmt::format("| | `{}` | {}: {} | {} | {} |\n", setting.name, form_to_text(setting), setting.meaning,
                           left_out, setting.since);
    }
  }
  return table;
}

}  // namespace vramfit::report
