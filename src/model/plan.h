// A plan: changes to a training job, applied to the unmodified script by python/vramfit/apply.
//
// A change is open: the id of a technique and its settings by name, as in the plan file (docs/architecture.md). Each
// technique (plan/techniques/, one file each) gives its settings their meaning, so a new technique touches no type
// here.
#ifndef VRAMFIT_MODEL_PLAN_H
#define VRAMFIT_MODEL_PLAN_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vramfit::model {

// Settings inside a setting: the options of an optimizer, {"foreach": false}.
using Options = std::map<std::string, std::variant<bool, std::int64_t, double, std::string>>;

using Setting =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<std::string>, Options>;

struct Change {
  std::string technique;
  std::map<std::string, Setting> settings;

  bool operator==(const Change&) const = default;
};

struct Plan {
  std::string name;  // one line for people: "micro-batch 2 x 4, bf16 autocast"
  std::vector<Change> changes;

  bool operator==(const Plan&) const = default;
};

// The setting, when the change has it in that type; an integer also answers for a double.
std::optional<std::int64_t> find_integer(const Change& change, std::string_view name);
std::optional<double> find_number(const Change& change, std::string_view name);
std::optional<std::string> find_text(const Change& change, std::string_view name);
std::vector<std::string> find_names(const Change& change, std::string_view name);  // empty when absent

const Change* find_change(const Plan& plan, std::string_view technique);

}  // namespace vramfit::model

#endif
