// A sweep's trials laid out for a picture or a table.
//
//   amp=bf16      --width=256     512     1024       the last variable runs to the right, the one before it downwards,
//   batch=2          fits        fits  |  OOM        and those before them make a map each; the border runs between
//                             ---------+             what fits and what does not
//   batch=40         fits     |  OOM      OOM
#ifndef VRAMFIT_REPORT_SWEEP_MAP_H
#define VRAMFIT_REPORT_SWEEP_MAP_H

#include <optional>
#include <string>
#include <vector>

#include "model/sweep.h"

namespace vramfit::report {

enum class Side { kUnknown, kFits, kUnsure, kTooLarge };
// The side a trial is on: kUnknown where it was not run, or ended for another reason than memory.
Side side_of(const model::Trial* trial);

struct SweepCell {
  const model::Trial* trial = nullptr;      // none: it was not run
  const model::Largest* largest = nullptr;  // of a search: what it found; `trial` is then the one that proves it
};

struct SweepMap {
  std::string title;  // "amp=bf16"; empty: the only one
  std::string down, right;
  std::vector<std::string> rows, columns;  // values of `down` and of `right`
  std::vector<SweepCell> cells;            // row by row
  const SweepCell& at(std::size_t row, std::size_t column) const { return cells[row * columns.size() + column]; }
};

// None with fewer than two variables. They point into `result`.
std::vector<SweepMap> build_maps(const model::SweepResult& result);

// The line between a cell and its neighbour to the right, or below.
struct BorderEdge {
  std::size_t row = 0, column = 0;
  bool is_right = true;
  bool is_sure = true;  // false: one of the two is borderline
  friend bool operator==(const BorderEdge&, const BorderEdge&) = default;
};
// Edges between neighbours that were both run. None for a map of what a search found: its border lies within the cells.
std::vector<BorderEdge> find_border(const SweepMap& map);

struct SweepPoint {
  const model::Trial* trial = nullptr;
  std::string value;
  double place = 0;  // the value itself; its ordinal where not all values are numbers
};

// Memory against one variable: of a sweep that varies one, or of a search for each combination of the others.
struct SweepLine {
  std::string title;  // "amp=bf16"; empty: the only one
  std::string name;   // of the variable
  bool is_numeric = true;
  std::vector<SweepPoint> points;  // those that were run, by place
  const model::Largest* largest = nullptr;
};
std::vector<SweepLine> build_lines(const model::SweepResult& result);

// Neighbours on the line that lie on different sides: the index of the first.
std::vector<std::size_t> find_border(const SweepLine& line);

// "batch=4 --width=256". The goal's value is the last, where there is one.
std::string describe_values(const model::SweepSpec& spec, const std::vector<std::string>& values);

}  // namespace vramfit::report

#endif
