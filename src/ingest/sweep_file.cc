#include "ingest/sweep_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/nearest_word.h"
#include "ingest/stored_fields.h"
#include "ingest/toml_text.h"

namespace vramfit::ingest {

using base::Bytes;
using base::ErrorCode;
using base::fail;
using base::Result;
using model::SweepSpec;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

std::string dump(const ordered_json& value) { return base::json_file(value); }

SweepSpec read_spec(const json& file) {
  SweepSpec spec;
  spec.gpus = file.at("gpus").get<std::vector<std::string>>();
  spec.options = file.at("options").get<std::vector<std::string>>();
  spec.command = file.at("command").get<std::vector<std::string>>();
  for (const json& variable : file.at("variables")) {
    spec.variables.push_back(
        {variable.at("name").get<std::string>(), variable.at("values").get<std::vector<std::string>>()});
  }
  if (const json& goal = file.at("goal"); !goal.is_null()) {
    spec.goal = model::SweepGoal{goal.at("name").get<std::string>(), whole<std::int64_t>(goal.at("low")),
                                 whole<std::int64_t>(goal.at("high"))};
  }
  spec.timeout_seconds = file.at("timeout_seconds").get<double>();
  return spec;
}

// Somebody else's sweep.json lies easily in a folder that is named for one.
std::string why_no_definition(const json& file) {
  if (file.contains("trials") && file.contains("schema")) {
    return "this is the result of a sweep, as --json writes it, not the definition of one";
  }
  constexpr std::string_view kFields[] = {"gpus", "options", "command", "variables", "goal", "timeout_seconds"};
  std::vector<std::string> missing;
  for (const std::string_view field : kFields) {
    if (!file.contains(field)) missing.push_back(fmt::format("`{}`", field));
  }
  if (missing.size() == std::size(kFields)) {
    return "this sweep.json is of another program: it holds no definition of a sweep";
  }
  if (!missing.empty()) {
    return fmt::format("the sweep's definition is damaged: it lacks {}", fmt::join(missing, ", "));
  }
  return "";
}

std::unexpected<base::Error> bad_toml(const toml::node& node, std::string what, const std::string& where) {
  return fail(ErrorCode::kUsage, std::move(what), fmt::format("{}:{}", where, node.source().begin.line),
              "docs/sweep.md shows a sweep's file");
}

// Numbers and truth values are words too: they end on a command line.
std::optional<std::string> to_word(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
  if (const auto real = node.value_exact<double>()) return fmt::format("{}", *real);
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  return std::nullopt;
}

Result<std::vector<std::string>> to_words(const toml::node& node, std::string_view key, const std::string& where) {
  std::vector<std::string> words;
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    const auto word = to_word(node);
    if (!word) return bad_toml(node, fmt::format("{} is neither a value nor a list of values", key), where);
    return std::vector{*word};
  }
  for (const toml::node& element : *list) {
    const auto word = to_word(element);
    if (!word) return bad_toml(element, fmt::format("{} holds something that is no plain value", key), where);
    words.push_back(*word);
  }
  return words;
}

Result<void> read_vary(const toml::node& node, SweepSpec& spec, const std::string& where) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return bad_toml(node, "vary is no table", where);
  std::vector<const toml::node*> nodes;
  std::vector<std::string> names;
  for (const auto& [name, values] : *table) {
    nodes.push_back(&values);
    names.emplace_back(name.str());
  }
  // toml++ sorts keys; people mean the order they wrote.
  std::vector<std::size_t> order(nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const auto begin = nodes[i]->source().begin;
    return std::pair(begin.line, begin.column);
  });
  for (const std::size_t i : order) {
    const auto values = to_words(*nodes[i], names[i], where);
    if (!values) return std::unexpected(values.error());
    if (values->empty()) return bad_toml(*nodes[i], names[i] + " has no values", where);
    spec.variables.push_back({names[i], *values});
  }
  return {};
}

const std::vector<std::string> kKeys = {"gpu", "command", "options", "vary", "find-max", "timeout"};

Result<void> read_key(const std::string& key, const toml::node& node, SweepFile& file, const std::string& where) {
  if (key == "vary") return read_vary(node, file.spec, where);
  if (key == "timeout") {
    const auto seconds = node.value<double>();
    if (!seconds || *seconds <= 0) return bad_toml(node, "timeout is no number of seconds", where);
    file.spec.timeout_seconds = *seconds;
    return {};
  }
  const auto words = to_words(node, key, where);
  if (!words) return std::unexpected(words.error());
  if (key == "gpu") {
    file.spec.gpus = *words;
  } else if (key == "command") {
    file.spec.command = *words;
  } else if (key == "options") {
    file.spec.options = *words;
  } else if (key == "find-max" && words->size() == 1) {
    file.find_max = words->front();
  } else {
    return bad_toml(node, fmt::format("there is no key {}{}", key, base::did_you_mean(key, kKeys)), where);
  }
  return {};
}

const json* fullest(const json& devices) {
  const json* found = nullptr;
  for (const json& device : devices) {
    if (found == nullptr || device.at("peak_device_bytes") > found->at("peak_device_bytes")) found = &device;
  }
  return found;
}

model::TrialResult read_trial(const json& file) {
  model::TrialResult result;
  result.verdict = file.value("interrupted", false) ? "interrupted"
                   : file.value("timed_out", false) ? "timed_out"
                                                    : file.at("verdict").get<std::string>();
  if (file.contains("reason") && file["reason"].is_string()) result.reason = file["reason"].get<std::string>();
  if (file.contains("error") && file["error"].is_object()) result.reason = file["error"].value("message", "");
  if (file.contains("oom") && file["oom"].is_object()) result.reason = file["oom"].value("message", "");
  result.exit_code = whole<int>(file.at("exit_code"));
  result.wall_seconds = file.at("wall_seconds").get<double>();
  result.untested = file.value("untested", std::vector<std::string>{});
  if (const json* device = file.contains("devices") ? fullest(file["devices"]) : nullptr; device != nullptr) {
    const auto bytes = [&](const char* name) { return Bytes(whole_if_known(*device, name).value_or(0)); };
    const model::Peaks peaks{bytes("peak_allocated_bytes"), bytes("peak_reserved_bytes"), bytes("peak_device_bytes")};
    // A run that was ended before it came to the card has used nothing of it, which is not what it needs.
    if (peaks.device.count() > 0) result.peaks = peaks;
    result.total = bytes("total_bytes");
  }
  return result;
}

}  // namespace

std::string sweep_to_json(const SweepSpec& spec) {
  ordered_json variables = ordered_json::array();
  for (const model::SweepVariable& variable : spec.variables) {
    variables.push_back({{"name", variable.name}, {"values", variable.values}});
  }
  ordered_json goal = nullptr;
  if (spec.goal) goal = {{"name", spec.goal->name}, {"low", spec.goal->low}, {"high", spec.goal->high}};
  return dump({{"gpus", spec.gpus},
               {"options", spec.options},
               {"command", spec.command},
               {"variables", std::move(variables)},
               {"goal", std::move(goal)},
               {"timeout_seconds", spec.timeout_seconds}});
}

Result<SweepSpec> parse_sweep_json(std::string_view text, const std::string& where) {
  constexpr std::string_view kSweepRemedy =
      "name another folder with --out; or remove this one, if it holds nothing of yours";
  try {
    const json file = json::parse(text);
    if (const std::string problem = why_no_definition(file); !problem.empty()) {
      return fail(ErrorCode::kCorrupt, problem, where, std::string(kSweepRemedy));
    }
    return read_spec(file);
  } catch (const json::parse_error& problem) {
    const bool is_cut = problem.byte > text.size();
    return fail(ErrorCode::kCorrupt,
                text.empty() ? std::string("the sweep's definition is empty")
                : is_cut     ? fmt::format("the sweep's definition is cut off after {} bytes", text.size())
                             : fmt::format("the sweep's definition is damaged: no JSON at byte {}", problem.byte),
                where, std::string(kSweepRemedy));
  } catch (const json::exception&) {
    return fail(ErrorCode::kCorrupt, "the sweep's definition is damaged: a value is of another kind than it has to be",
                where, std::string(kSweepRemedy));
  }
}

Result<SweepFile> parse_sweep_toml(std::string_view text, const std::string& where) {
  const auto table = read_toml(text);
  if (!table) {
    return fail(ErrorCode::kUsage, table.error().what, fmt::format("{}:{}", where, table.error().line),
                "docs/sweep.md shows a sweep's file");
  }
  SweepFile file;
  for (const auto& [key, node] : *table) {
    if (auto read = read_key(std::string(key.str()), node, file, where); !read) return std::unexpected(read.error());
  }
  return file;
}

std::string words_to_json(const std::vector<std::string>& words) { return dump(ordered_json(words)); }

Result<std::vector<std::string>> parse_words(std::string_view text, const std::string& where) {
  try {
    return json::parse(text).get<std::vector<std::string>>();
  } catch (const json::exception& problem) {
    return fail(ErrorCode::kCorrupt, fmt::format("this is no list of words: {}", problem.what()), where);
  }
}

Result<model::TrialResult> parse_trial_result(std::string_view text, const std::string& where) {
  try {
    return read_trial(json::parse(text));
  } catch (const json::exception& problem) {
    return fail(ErrorCode::kCorrupt, fmt::format("this is no run's result: {}", problem.what()), where);
  }
}

std::string trial_result_to_json(const model::TrialResult& result) {
  ordered_json file = {{"verdict", result.verdict},
                       {"reason", result.reason},
                       {"exit_code", result.exit_code},
                       {"wall_seconds", result.wall_seconds},
                       {"untested", result.untested}};
  if (result.peaks) {
    file["devices"] = ordered_json::array({{{"total_bytes", result.total.count()},
                                            {"peak_allocated_bytes", result.peaks->allocated.count()},
                                            {"peak_reserved_bytes", result.peaks->reserved.count()},
                                            {"peak_device_bytes", result.peaks->device.count()}}});
  }
  return dump(file);
}

}  // namespace vramfit::ingest
