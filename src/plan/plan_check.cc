#include "plan/plan_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vramfit::plan {
namespace {

using model::Setting;

bool is_count(const Setting& setting) {
  const auto* number = std::get_if<std::int64_t>(&setting);
  return number != nullptr && *number >= 1;
}

bool are_tiles(const Setting& setting) {
  const auto* number = std::get_if<std::int64_t>(&setting);
  return number != nullptr && *number >= 2;
}

bool is_natural(const Setting& setting) {
  const auto* number = std::get_if<std::int64_t>(&setting);
  return number != nullptr && *number >= 0;
}

bool is_flag(const Setting& setting) { return std::holds_alternative<bool>(setting); }

bool is_word(const Setting& setting) {
  const auto* text = std::get_if<std::string>(&setting);
  return text != nullptr && !text->empty();
}

bool is_half_type(const Setting& setting) {
  const auto* text = std::get_if<std::string>(&setting);
  return text != nullptr && (*text == "float16" || *text == "bfloat16");
}

bool is_share(const Setting& setting) {
  const auto* number = std::get_if<double>(&setting);
  const auto* whole = std::get_if<std::int64_t>(&setting);
  return (number != nullptr && *number > 0 && *number <= 1) || (whole != nullptr && *whole == 1);
}

bool are_ordinals(const Setting& setting) {
  const auto* list = std::get_if<std::vector<std::int64_t>>(&setting);
  return list != nullptr && !list->empty() && std::ranges::all_of(*list, [](std::int64_t one) { return one >= 0; });
}

bool are_words(const Setting& setting) {
  const auto* list = std::get_if<std::vector<std::string>>(&setting);
  return list != nullptr && !list->empty() && std::ranges::none_of(*list, &std::string::empty);
}

bool are_phases(const Setting& setting) {
  constexpr std::string_view kPhases[] = {"load", "train", "validate", "test", "save"};
  return are_words(setting) && std::ranges::all_of(std::get<std::vector<std::string>>(setting), [&](const auto& word) {
           return std::ranges::find(kPhases, word) != std::end(kPhases);
         });
}

bool are_options(const Setting& setting) {
  const auto* list = std::get_if<std::vector<std::string>>(&setting);  // {} and [] read alike
  return std::holds_alternative<model::Options>(setting) || (list != nullptr && list->empty());
}

struct SettingRule {
  std::string_view name;
  bool is_needed;
  bool (*is_right)(const Setting&);
  std::string_view words;  // what it must be
};

constexpr std::string_view kCount = "a whole number from 1 on";
constexpr std::string_view kOrdinals =
    "a list of loaders, numbered from 0 in the order in which the script iterates them";

constexpr SettingRule kMicroBatch[] = {{"micro_batch", true, is_count, kCount},
                                       {"accumulate", false, is_count, kCount},
                                       {"loaders", false, are_ordinals, kOrdinals}};
constexpr SettingRule kBatchSize[] = {{"batch_size", true, is_count, kCount},
                                      {"loaders", false, are_ordinals, kOrdinals}};
constexpr SettingRule kAutocast[] = {{"dtype", false, is_half_type, "\"float16\" or \"bfloat16\""},
                                     {"scaler", false, is_flag, "true or false"}};
constexpr SettingRule kHalfEvaluation[] = {{"dtype", false, is_half_type, "\"float16\" or \"bfloat16\""},
                                           {"weights", false, is_flag, "true or false"}};
constexpr SettingRule kTiles[] = {{"per_side", true, are_tiles, "a whole number from 2 on"}};
constexpr SettingRule kCheckpoint[] = {{"modules", true, are_words, "a list of names as in named_modules()"}};
constexpr SettingRule kOffload[] = {{"modules", false, are_words, "a list of names as in named_modules()"},
                                    {"at_least", false, is_natural, "bytes of a tensor, a whole number from 0 on"}};
constexpr SettingRule kOptimizer[] = {{"name", false, is_word, "a class of torch.optim"},
                                      {"options", false, are_options, "an object of arguments"}};
constexpr SettingRule kResize[] = {{"scale", true, is_share, "a number above 0, up to 1"}};
constexpr SettingRule kChunkedLoss[] = {{"chunk_bytes", false, is_count, kCount}, {"linear", false, is_count, kCount}};
constexpr SettingRule kAllocator[] = {{"conf", true, is_word, "what PYTORCH_CUDA_ALLOC_CONF takes"}};
constexpr SettingRule kEmptyCache[] = {
    {"before", false, are_phases, "a list of phases: load, train, validate, test, save"}};
constexpr SettingRule kLoader[] = {{"pin_memory", false, is_flag, "true or false"},
                                   {"num_workers", false, is_natural, "a whole number from 0 on"}};

struct TechniqueRule {
  std::string_view id;
  std::span<const SettingRule> settings;
};

constexpr TechniqueRule kRules[] = {{"micro_batch", kMicroBatch},
                                    {"batch_size", kBatchSize},
                                    {"autocast", kAutocast},
                                    {"checkpoint", kCheckpoint},
                                    {"offload_activations", kOffload},
                                    {"optimizer", kOptimizer},
                                    {"resize_input", kResize},
                                    {"no_grad_validation", {}},
                                    {"chunked_loss", kChunkedLoss},
                                    {"gather_on_cpu", {}},
                                    {"allocator", kAllocator},
                                    {"empty_cache", kEmptyCache},
                                    {"loader_options", kLoader},
                                    {"zero_grad_set_to_none", {}},
                                    {"half_evaluation", kHalfEvaluation},
                                    {"tiles", kTiles},
                                    {"int8_weights", {}},
                                    {"release_gradients", {}}};

std::unexpected<base::Error> refuse(std::string what, std::string_view where, std::string remedy) {
  return base::fail(base::ErrorCode::kUsage, std::move(what), std::string(where), std::move(remedy));
}

template <class Rows>
std::string names_in(const Rows& rows, auto member) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.*member);
  return fmt::format("{}", fmt::join(names, ", "));
}

base::Result<void> check_change(const model::Change& change, const std::string& where) {
  const auto rule = std::ranges::find(kRules, change.technique, &TechniqueRule::id);
  if (rule == std::end(kRules)) {
    return refuse(fmt::format("no technique is called \"{}\"", change.technique), where,
                  names_in(kRules, &TechniqueRule::id));
  }
  for (const auto& [name, value] : change.settings) {
    const auto setting = std::ranges::find(rule->settings, name, &SettingRule::name);
    if (setting == rule->settings.end()) {
      return refuse(fmt::format("{} has no setting \"{}\"", change.technique, name), where,
                    rule->settings.empty() ? "it has none" : names_in(rule->settings, &SettingRule::name));
    }
    if (!setting->is_right(value)) {
      return refuse(fmt::format("\"{}\" of {} is not {}", name, change.technique, setting->words), where, "");
    }
  }
  for (const SettingRule& setting : rule->settings) {
    if (setting.is_needed && !change.settings.contains(std::string(setting.name))) {
      return refuse(fmt::format("{} needs \"{}\": {}", change.technique, setting.name, setting.words), where, "");
    }
  }
  if (change.settings.empty() && (change.technique == "optimizer" || change.technique == "loader_options")) {
    return refuse(fmt::format("{} changes nothing", change.technique), where,
                  names_in(rule->settings, &SettingRule::name));
  }
  return {};
}

}  // namespace

base::Result<void> check_plan(const model::Plan& plan, std::string_view name) {
  if (plan.changes.empty()) return refuse("this plan changes nothing: \"techniques\" is empty", name, "");
  for (std::size_t i = 0; i < plan.changes.size(); ++i) {
    if (auto right = check_change(plan.changes[i], fmt::format("{}: techniques[{}]", name, i)); !right) return right;
  }
  return {};
}

}  // namespace vramfit::plan
