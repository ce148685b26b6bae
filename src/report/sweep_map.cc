#include "report/sweep_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/parse_number.h"

namespace vramfit::report {

using model::SweepResult;
using model::SweepVariable;
using model::Trial;
using model::TrialState;

namespace {

using Values = std::vector<std::string>;

const Trial* find_trial(const SweepResult& result, const Values& values) {
  const auto found = std::ranges::find(result.trials, values, &Trial::values);
  return found == result.trials.end() ? nullptr : &*found;
}

// Every combination of the first `count` variables, the last of them changing fastest.
std::vector<Values> combine_first(const std::vector<SweepVariable>& variables, std::size_t count) {
  std::vector<Values> all = {{}};
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Values> longer;
    for (const Values& values : all) {
      for (const std::string& value : variables[i].values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

// A search's cell tells the largest number that fits, or else the least that does not.
SweepCell build_cell(const SweepResult& result, Values values) {
  if (!result.spec.goal) return {find_trial(result, values), nullptr};
  const auto found = std::ranges::find(result.largest, values, &model::Largest::values);
  if (found == result.largest.end()) return {};
  const auto& number = found->fits ? found->fits : found->too_large;
  if (!number) return {nullptr, &*found};
  values.push_back(std::to_string(*number));
  return {find_trial(result, values), &*found};
}

std::optional<double> parse_finite(const std::string& text) {
  const auto number = base::parse_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

void place_points(SweepLine& line, const Values& order) {
  for (SweepPoint& point : line.points) {
    const auto number = parse_finite(point.value);
    line.is_numeric = line.is_numeric && number.has_value();
    point.place = number.value_or(0);
  }
  if (!line.is_numeric) {
    for (SweepPoint& point : line.points) {
      point.place = static_cast<double>(std::ranges::find(order, point.value) - order.begin());
    }
  }
  std::ranges::stable_sort(line.points, {}, &SweepPoint::place);
}

bool differ(Side left, Side right) { return left != Side::kUnknown && right != Side::kUnknown && left != right; }

bool is_sure(Side left, Side right) { return left != Side::kUnsure && right != Side::kUnsure; }

}  // namespace

Side side_of(const Trial* trial) {
  if (trial == nullptr || trial->state != TrialState::kDone) return Side::kUnknown;
  if (trial->result.fits()) return Side::kFits;
  if (trial->result.verdict == "borderline") return Side::kUnsure;
  return trial->result.verdict == "out_of_memory" ? Side::kTooLarge : Side::kUnknown;
}

std::vector<SweepMap> build_maps(const SweepResult& result) {
  const auto& variables = result.spec.variables;
  if (variables.size() < 2) return {};
  const SweepVariable& down = variables[variables.size() - 2];
  const SweepVariable& right = variables.back();
  std::vector<SweepMap> maps;
  for (const Values& fixed : combine_first(variables, variables.size() - 2)) {
    SweepMap map{.title = fixed.empty() ? "" : describe_values(result.spec, fixed),
                 .down = down.name,
                 .right = right.name,
                 .rows = down.values,
                 .columns = right.values,
                 .cells = {}};
    for (const std::string& row : down.values) {
      for (const std::string& column : right.values) {
        Values values = fixed;
        values.push_back(row);
        values.push_back(column);
        map.cells.push_back(build_cell(result, std::move(values)));
      }
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

std::vector<BorderEdge> find_border(const SweepMap& map) {
  std::vector<BorderEdge> edges;
  const auto compare = [&](std::size_t row, std::size_t column, const SweepCell& other, bool is_right) {
    const SweepCell& cell = map.at(row, column);
    if (cell.largest != nullptr || other.largest != nullptr) return;
    const Side here = side_of(cell.trial), there = side_of(other.trial);
    if (differ(here, there)) edges.push_back({row, column, is_right, is_sure(here, there)});
  };
  for (std::size_t row = 0; row < map.rows.size(); ++row) {
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      if (column + 1 < map.columns.size()) compare(row, column, map.at(row, column + 1), true);
      if (row + 1 < map.rows.size()) compare(row, column, map.at(row + 1, column), false);
    }
  }
  return edges;
}

std::vector<SweepLine> build_lines(const SweepResult& result) {
  const auto& variables = result.spec.variables;
  const bool is_search = result.spec.goal.has_value();
  if (!is_search && variables.size() != 1) return {};
  std::vector<SweepLine> lines;
  for (const Values& fixed : combine_first(variables, is_search ? variables.size() : 0)) {
    SweepLine line{.title = fixed.empty() ? "" : describe_values(result.spec, fixed),
                   .name = is_search ? result.spec.goal->name : variables.front().name,
                   .points = {}};
    for (const Trial& trial : result.trials) {
      const bool is_here = trial.values.size() == fixed.size() + 1 &&
                           std::equal(fixed.begin(), fixed.end(), trial.values.begin(), trial.values.end() - 1);
      if (is_here && trial.state == TrialState::kDone) line.points.push_back({&trial, trial.values.back(), 0});
    }
    place_points(line, is_search ? Values() : variables.front().values);
    const auto found = std::ranges::find(result.largest, fixed, &model::Largest::values);
    if (found != result.largest.end()) line.largest = &*found;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::size_t> find_border(const SweepLine& line) {
  std::vector<std::size_t> before;
  for (std::size_t i = 0; i + 1 < line.points.size(); ++i) {
    if (differ(side_of(line.points[i].trial), side_of(line.points[i + 1].trial))) before.push_back(i);
  }
  return before;
}

std::string describe_values(const model::SweepSpec& spec, const Values& values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = i < spec.variables.size() ? spec.variables[i].name : spec.goal->name;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, values[i]);
  }
  return text.empty() ? "as it is" : text;
}

}  // namespace vramfit::report
