// A screen as a grid of characters with styles. Drawing is clipped and never fails; the grid is then written as plain
// lines (tests, --once) or as the escape sequences that turn the last screen into this one.
#ifndef VRAMFIT_TUI_CELL_GRID_H
#define VRAMFIT_TUI_CELL_GRID_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::tui {

enum class Style : std::uint8_t { kPlain, kDim, kBold, kGood, kWarn, kBad, kAccent, kSelected };

// Columns a character takes on a terminal: 0 for combining marks, 2 for East Asian wide ones and emoji.
int columns_of(char32_t character);
int columns_of(std::string_view utf8);
// The longest front of `utf8` that fits; shortened text ends in `mark`.
std::string fit(std::string_view utf8, int columns, std::string_view mark);

struct Size {
  int columns = 80, rows = 24;
  friend bool operator==(const Size&, const Size&) = default;
};

class CellGrid {
 public:
  explicit CellGrid(Size size);

  Size size() const { return size_; }
  // Writes from `column` to the right; returns the column behind it, also where that lies outside and is left out.
  int put(int column, int row, std::string_view utf8, Style style = Style::kPlain);
  // Ends at `right`, exclusively; returns the column where it begins.
  int put_right(int right, int row, std::string_view utf8, Style style = Style::kPlain);
  void paint(int row, Style style);  // the whole row, keeping its text

  // Lines without trailing spaces; empty lines at the end are left out.
  std::vector<std::string> to_lines() const;
  // One line with colours, for output that is no screen.
  std::string to_coloured_line(int row) const;
  // What a terminal that shows `before` must be sent; everything when sizes differ.
  std::string to_escapes(const CellGrid* before, bool colour) const;
  int used_rows() const;

 private:
  struct Cell {
    std::string text = " ";  // with its combining marks; empty: the right half of a wide character
    Style style = Style::kPlain;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  std::size_t index_of(int column, int row) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(size_.columns) + static_cast<std::size_t>(column);
  }
  const Cell& at(int column, int row) const { return cells_[index_of(column, row)]; }
  Cell& at(int column, int row) { return cells_[index_of(column, row)]; }
  int last_column(int row) const;

  Size size_;
  std::vector<Cell> cells_;
};

}  // namespace vramfit::tui

#endif
