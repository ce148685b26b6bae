#include "plan/plan_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/nearest_word.h"
#include "plan/setting_check.h"

namespace vramfit::plan {
namespace {

using model::Change;
using model::SettingSchema;
using model::TechniqueSchema;

// A word as errors quote it, from a file that may hold anything.
std::string in_quotes(std::string_view word) {
  constexpr std::size_t kShown = 60;
  std::string plain;
  for (const char letter : word.substr(0, kShown)) plain += letter < ' ' || letter > '~' ? '?' : letter;
  return fmt::format("\"{}{}\"", plain, word.size() > kShown ? "..." : "");
}

template <class Rows, class Member>
std::vector<std::string> names_in(const Rows& rows, Member member) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(row.*member);
  return names;
}

// The word to write instead of one that nobody knows.
std::string suggest(std::string_view word, const std::vector<std::string>& known) {
  if (known.empty()) return "it has none";
  const std::string all = fmt::format("{}", fmt::join(known, ", "));
  const auto meant = base::nearest_word(word, known);
  return meant ? fmt::format("did you mean \"{}\"? There are: {}", *meant, all) : all;
}

bool says_nothing(const std::pair<const std::string, model::Setting>& setting) {
  const auto* options = std::get_if<model::Options>(&setting.second);
  return options != nullptr && options->empty();
}

class Check {
 public:
  Check(const TechniqueSchema& technique, const Change& change, std::string where)
      : technique_(technique), change_(change), where_(std::move(where)) {}

  base::Result<void> whole() const {
    for (const auto& [name, value] : change_.settings) {
      if (auto right = setting(name, value); !right) return right;
    }
    for (const SettingSchema& setting : technique_.settings) {
      if (setting.needed && !change_.settings.contains(std::string(setting.name))) {
        return refuse(fmt::format("{} needs \"{}\": {}", technique_.id, setting.name, describe_setting(setting)), "");
      }
    }
    if (technique_.needs_one && std::ranges::all_of(change_.settings, says_nothing)) {
      return refuse(fmt::format("{} changes nothing", technique_.id),
                    fmt::format("{}", fmt::join(names_in(technique_.settings, &SettingSchema::name), ", ")));
    }
    return {};
  }

  std::unexpected<base::Error> refuse(std::string what, std::string remedy) const {
    return base::fail(base::ErrorCode::kUsage, std::move(what), where_, std::move(remedy));
  }

 private:
  base::Result<void> setting(const std::string& name, const model::Setting& value) const {
    const SettingSchema* known = technique_.find(name);
    if (known == nullptr) {
      return refuse(fmt::format("{} has no setting {}", technique_.id, in_quotes(name)),
                    suggest(name, names_in(technique_.settings, &SettingSchema::name)));
    }
    const SettingFault fault = find_fault(*known, value);
    if (!fault.found) return {};
    if (fault.word.empty()) {
      return refuse(fmt::format("\"{}\" of {} is not {}", name, technique_.id, describe_setting(*known)), "");
    }
    const std::vector<std::string> words(known->words.begin(), known->words.end());
    return refuse(fmt::format("\"{}\" of {} can't hold {}{}", name, technique_.id, in_quotes(fault.word),
                              fault.twice ? " twice" : ""),
                  fault.twice ? "" : suggest(fault.word, words));
  }

  const TechniqueSchema& technique_;
  const Change& change_;
  const std::string where_;
};

std::vector<std::int64_t> loaders_of(const Change& change) {
  const auto setting = change.settings.find("loaders");
  if (setting == change.settings.end()) return {0};
  return std::get<std::vector<std::int64_t>>(setting->second);
}

// Techniques that stand in the plan so far.
class ChangesSoFar {
 public:
  // Why this one may not stand beside them; empty when it may.
  std::string add(const TechniqueSchema& technique, const Change& change) {
    if (!technique.for_loaders) {
      return ids_.insert(std::string(technique.id)).second ? "" : fmt::format("{} stands there twice", technique.id);
    }
    for (const std::int64_t loader : loaders_of(change)) {
      if (!of_loaders_.emplace(technique.id, loader).second) {
        return fmt::format("{} stands there twice for data loader {}", technique.id, loader);
      }
    }
    return "";
  }

 private:
  std::set<std::string> ids_;
  std::set<std::pair<std::string, std::int64_t>> of_loaders_;
};

}  // namespace

base::Result<void> check_plan(const model::Plan& plan, std::string_view name, std::span<const TechniqueSchema> schema) {
  const auto fail = [](std::string what, std::string where, std::string remedy) {
    return base::fail(base::ErrorCode::kUsage, std::move(what), std::move(where), std::move(remedy));
  };
  if (plan.changes.empty()) return fail("this plan changes nothing: \"techniques\" is empty", std::string(name), "");
  ChangesSoFar seen;
  for (std::size_t i = 0; i < plan.changes.size(); ++i) {
    const Change& change = plan.changes[i];
    std::string where = fmt::format("{}: techniques[{}]", name, i);
    const auto technique = std::ranges::find(schema, change.technique, &TechniqueSchema::id);
    if (technique == schema.end()) {
      return fail(fmt::format("no technique is called {}", in_quotes(change.technique)), std::move(where),
                  suggest(change.technique, names_in(schema, &TechniqueSchema::id)));
    }
    const Check check(*technique, change, std::move(where));
    if (auto right = check.whole(); !right) return right;
    if (std::string twice = seen.add(*technique, change); !twice.empty()) return check.refuse(std::move(twice), "");
  }
  return {};
}

}  // namespace vramfit::plan
