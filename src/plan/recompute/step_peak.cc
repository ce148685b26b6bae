#include "plan/recompute/step_peak.h"

#include <algorithm>
#include <iterator>

namespace vramfit::plan {
namespace {

class PeakWalk {
 public:
  PeakWalk(const model::StepModules& step, std::span<const std::size_t> chosen)
      : step_(step), children_(find_children(step)), is_chosen_(step.modules.size(), false) {
    for (const std::size_t index : chosen) is_chosen_[index] = true;
  }

  Bytes run() {
    const Bytes freed = walk(children_.back(), Bytes(), Bytes());
    return std::max(peak_, step_.end_peak - freed);
  }

 private:
  // `freed`: by the modules before; `rise`: of the forward being run again around these.
  Bytes walk(const std::vector<std::size_t>& siblings, Bytes freed, Bytes rise) {
    for (const std::size_t index : siblings) {
      const model::StepModule& module = step_.modules[index];
      const bool is_inside = is_split(step_, children_[index]) && has_chosen_inside(index);
      const Bytes again = is_chosen_[index] ? std::max(rise, module.repeat_rise) : rise;
      if (is_inside || (!is_chosen_[index] && is_split(step_, children_[index]))) {
        const Bytes within = walk(children_[index], freed, again);
        freed = is_chosen_[index] ? freed + module.freed : within;
      } else {
        see(module.forward_peak + again - freed);
        see(module.backward_peak - freed);
        if (is_chosen_[index]) freed += module.freed;
      }
      see(module.after_peak + rise - freed);
    }
    return freed;
  }

  bool has_chosen_inside(std::size_t index) const {
    return std::ranges::any_of(children_[index],
                               [&](std::size_t child) { return is_chosen_[child] || has_chosen_inside(child); });
  }

  void see(Bytes level) { peak_ = std::max(peak_, level); }

  const model::StepModules& step_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<bool> is_chosen_;
  Bytes peak_;
};

}  // namespace

std::vector<std::vector<std::size_t>> find_children(const model::StepModules& step) {
  const std::size_t count = step.modules.size();
  std::vector<std::vector<std::size_t>> children(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const int parent = step.modules[i].parent;
    children[parent < 0 ? count : static_cast<std::size_t>(parent)].push_back(i);
  }
  return children;
}

bool is_split(const model::StepModules& step, std::span<const std::size_t> children) {
  return std::ranges::any_of(children, [&](std::size_t index) { return step.modules[index].backward_peak > Bytes(0); });
}

Bytes peak_with(const model::StepModules& step, std::span<const std::size_t> chosen) {
  return PeakWalk(step, chosen).run();
}

model::StepModules with_products_kept(model::StepModules step) {
  for (model::StepModule& module : step.modules) module.freed -= module.products;
  return step;
}

std::vector<std::size_t> find_modules(const model::StepModules& step, std::span<const std::string> names) {
  std::vector<std::size_t> found;
  for (const std::string& name : names) {
    const auto module = std::ranges::find(step.modules, name, &model::StepModule::name);
    if (module == step.modules.end()) continue;
    found.push_back(static_cast<std::size_t>(std::distance(step.modules.begin(), module)));
  }
  return found;
}

}  // namespace vramfit::plan
