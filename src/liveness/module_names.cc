#include "liveness/module_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::liveness {

namespace {

std::string_view parent_name(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

}  // namespace

ModuleNames::ModuleNames(const ListedModel& model) : model_(model), parents_(model.modules.size(), -1) {
  for (std::size_t i = 0; i < model.modules.size(); ++i) by_name_.emplace(model.modules[i].name, static_cast<int>(i));
  for (std::size_t i = 1; i < model.modules.size(); ++i) {
    // An alias that was listed first may lack its parent: then the nearest that is listed is it.
    std::string_view name = parent_name(model.modules[i].name);
    while (!name.empty() && find(name) < 0) name = parent_name(name);
    parents_[i] = name.empty() ? 0 : find(name);
  }
}

int ModuleNames::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

std::vector<int> ModuleNames::cover(const std::set<int>& gone, const std::set<int>& called) const {
  std::set<int> kept;  // modules above something that stays
  for (const int module : called) {
    if (gone.contains(module)) continue;
    for (int above = module; above >= 0; above = parent(above)) kept.insert(above);
  }
  std::set<int> chosen;
  for (const int module : gone) {
    int top = module;
    while (parent(top) > 0 && !kept.contains(parent(top))) top = parent(top);
    chosen.insert(top);
  }
  return {chosen.begin(), chosen.end()};
}

std::string ModuleNames::describe(const std::vector<int>& modules, const std::string& prefix) const {
  if (modules.empty()) return "";
  const std::string& first = model_.modules[place(modules.front())].name;
  const std::string& last = model_.modules[place(modules.back())].name;
  if (modules.size() == 1) return prefix + first;
  std::string_view common = parent_name(first);
  for (const int module : modules) {
    const std::string& name = model_.modules[place(module)].name;
    while (!common.empty() && !(name.starts_with(common) && name[common.size()] == '.')) common = parent_name(common);
  }
  const std::size_t skip = common.empty() ? 0 : common.size() + 1;
  return fmt::format("{}{}{}{}{}{}", prefix, common, common.empty() ? "" : ": ", first.substr(skip),
                     modules.size() == 2 ? ", " : " ... ", last.substr(skip));
}

}  // namespace vramfit::liveness
