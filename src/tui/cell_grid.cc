#include "tui/cell_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

namespace vramfit::tui {

namespace {

struct Span {
  char32_t first, last;
};
// Blocks of Unicode whose characters are wide, and those that stand on the character before them. Blocks, not single
// characters: what is between is rare in names of programs.
constexpr std::array kWideLetters = {
    Span{0x1100, 0x115f}, Span{0x2e80, 0x303e},   Span{0x3041, 0x33ff},   Span{0x3400, 0x4dbf},  Span{0x4e00, 0x9fff},
    Span{0xa000, 0xa4cf}, Span{0xac00, 0xd7a3},   Span{0xf900, 0xfaff},   Span{0xfe30, 0xfe6f},  Span{0xff00, 0xff60},
    Span{0xffe0, 0xffe6}, Span{0x1f300, 0x1f64f}, Span{0x1f900, 0x1f9ff}, Span{0x20000, 0x3fffd}};
constexpr std::array kCombining = {Span{0x0300, 0x036f}, Span{0x200b, 0x200f}, Span{0x20d0, 0x20ff},
                                   Span{0xfe00, 0xfe0f}};

bool is_in(char32_t character, std::span<const Span> spans) {
  return std::ranges::any_of(spans, [&](const Span& one) { return character >= one.first && character <= one.last; });
}

// One character off the front. Bytes that are no UTF-8 and control characters become '?'.
struct Character {
  std::string_view bytes;
  char32_t code = '?';
};
Character take(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xf0 && lead < 0xf8 ? 4
                             : lead >= 0xe0                ? 3
                             : lead >= 0xc2                ? 2
                                                           : 0;
  const auto bad = [&] {
    text.remove_prefix(1);
    return Character{"?", '?'};
  };
  if (length == 0 || lead >= 0xf8 || length > text.size()) return bad();
  char32_t code = length == 1 ? lead : lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return bad();
    code = code << 6 | (byte & 0x3f);
  }
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return bad();
  const Character found{text.substr(0, length), code};
  text.remove_prefix(length);
  return found;
}

std::string_view escape_of(Style style) {
  switch (style) {
    case Style::kPlain:
      return "\033[0m";
    case Style::kDim:
      return "\033[0;2m";
    case Style::kBold:
      return "\033[0;1m";
    case Style::kGood:
      return "\033[0;32m";
    case Style::kWarn:
      return "\033[0;33m";
    case Style::kBad:
      return "\033[0;1;31m";
    case Style::kAccent:
      return "\033[0;36m";
    case Style::kSelected:
      return "\033[0;7m";
  }
  return "\033[0m";
}

// Without colour a selection and a heading must still be seen.
std::string_view escape_without_colour(Style style) {
  if (style == Style::kSelected) return "\033[0;7m";
  return style == Style::kBold || style == Style::kBad ? "\033[0;1m" : "\033[0m";
}

}  // namespace

int columns_of(char32_t character) {
  if (is_in(character, kCombining)) return 0;
  return is_in(character, kWideLetters) ? 2 : 1;
}

int columns_of(std::string_view utf8) {
  int columns = 0;
  while (!utf8.empty()) columns += columns_of(take(utf8).code);
  return columns;
}

std::string fit(std::string_view utf8, int columns, std::string_view mark) {
  if (columns_of(utf8) <= columns) return std::string(utf8);
  const int room = columns - columns_of(mark);
  if (room < 0) return {};
  std::string text;
  for (int used = 0; !utf8.empty();) {
    const Character next = take(utf8);
    used += columns_of(next.code);
    if (used > room) break;
    text += next.bytes;
  }
  return text.append(mark);
}

CellGrid::CellGrid(Size size) : size_(size) {
  size_.columns = std::max(size_.columns, 1);
  size_.rows = std::max(size_.rows, 1);
  cells_.resize(static_cast<std::size_t>(size_.columns) * static_cast<std::size_t>(size_.rows));
}

int CellGrid::put(int column, int row, std::string_view utf8, Style style) {
  const bool is_there = row >= 0 && row < size_.rows;
  while (!utf8.empty()) {
    const Character next = take(utf8);
    const int width = columns_of(next.code);
    const bool follows = is_there && column > 0 && column <= size_.columns;
    if (width == 0 && follows) at(column - 1, row).text += next.bytes;
    if (width == 0) continue;
    if (is_there && column >= 0 && column + width <= size_.columns) {
      at(column, row) = {std::string(next.bytes), style};
      if (width == 2) at(column + 1, row) = {"", style};
    }
    column += width;
  }
  return column;
}

int CellGrid::put_right(int right, int row, std::string_view utf8, Style style) {
  const int column = right - columns_of(utf8);
  put(column, row, utf8, style);
  return column;
}

void CellGrid::paint(int row, Style style) {
  if (row < 0 || row >= size_.rows) return;
  for (int column = 0; column < size_.columns; ++column) at(column, row).style = style;
}

int CellGrid::last_column(int row) const {
  int last = size_.columns - 1;
  while (last >= 0 && at(last, row).text == " ") --last;
  return last;
}

int CellGrid::used_rows() const {
  int rows = size_.rows;
  while (rows > 0 && last_column(rows - 1) < 0) --rows;
  return rows;
}

std::vector<std::string> CellGrid::to_lines() const {
  std::vector<std::string> lines;
  for (int row = 0; row < used_rows(); ++row) {
    std::string line;
    for (int column = 0; column <= last_column(row); ++column) line += at(column, row).text;
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string CellGrid::to_coloured_line(int row) const {
  std::string line;
  Style style = Style::kPlain;
  for (int column = 0; column <= last_column(row); ++column) {
    const Cell& cell = at(column, row);
    if (cell.style != style) line += escape_of(style = cell.style);
    line += cell.text;
  }
  if (style != Style::kPlain) line += escape_of(Style::kPlain);
  return line;
}

std::string CellGrid::to_escapes(const CellGrid* before, bool colour) const {
  const bool whole = before == nullptr || before->size_ != size_;
  std::string text = whole ? "\033[0m\033[2J" : "";
  int shown_row = -1, shown_column = -1;
  bool styled = false;
  Style style = Style::kPlain;
  for (int row = 0; row < size_.rows; ++row) {
    for (int column = 0; column < size_.columns; ++column) {
      const Cell& cell = at(column, row);
      const bool same = whole ? cell == Cell{} : cell == before->at(column, row);
      if (same || cell.text.empty()) continue;
      if (row != shown_row || column != shown_column) text += fmt::format("\033[{};{}H", row + 1, column + 1);
      if (!styled || cell.style != style) {
        text += colour ? escape_of(cell.style) : escape_without_colour(cell.style);
        style = cell.style;
        styled = true;
      }
      text += cell.text;
      shown_row = row;
      shown_column = column + (column + 1 < size_.columns && at(column + 1, row).text.empty() ? 2 : 1);
    }
  }
  if (styled) text += "\033[0m";
  return text;
}

}  // namespace vramfit::tui
