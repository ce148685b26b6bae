#include "app/testing/plan_stacks.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

namespace vramfit::app {
namespace {

struct Choice {
  std::size_t axis = 0;
  std::uint8_t level = 0;
};

std::optional<Choice> find_choice(std::span<const plan::Axis> axes, std::string_view asked) {
  const auto equals = asked.find('=');
  const std::string_view id = asked.substr(0, equals);
  const std::string_view words = equals == std::string_view::npos ? "" : asked.substr(equals + 1);
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].technique->id() != id) continue;
    for (std::size_t level = axes[axis].options.size(); level > 0; --level) {
      const std::string described = axes[axis].technique->describe(axes[axis].options[level - 1]);
      if (described.find(words) != std::string::npos) return Choice{axis, static_cast<std::uint8_t>(level)};
    }
  }
  return std::nullopt;
}

void climb(std::span<const plan::Axis> axes, std::string_view stack, std::vector<Rung>& rungs) {
  Rung rung{"", std::vector<std::uint8_t>(axes.size(), 0)};
  for (const auto part : std::views::split(stack, ',')) {
    const std::string_view asked(part);
    rung.name += rung.name.empty() ? "" : ",";
    rung.name += asked;
    const auto choice = find_choice(axes, asked);
    if (!choice) rung.levels.clear();
    if (choice) rung.levels[choice->axis] = choice->level;
    if (std::ranges::find(rungs, rung.name, &Rung::name) == rungs.end()) rungs.push_back(rung);
    if (!choice) return;
  }
}

}  // namespace

std::vector<Rung> find_rungs(std::span<const plan::Axis> axes, std::string_view stacks) {
  std::vector<Rung> rungs;
  for (const auto stack : std::views::split(stacks, ';')) climb(axes, std::string_view(stack), rungs);
  return rungs;
}

}  // namespace vramfit::app
