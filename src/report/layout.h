// Plain text in 80 columns: wrapped sentences and tables whose columns line up.
#ifndef VRAMFIT_REPORT_LAYOUT_H
#define VRAMFIT_REPORT_LAYOUT_H

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::report {

inline constexpr std::size_t kPageWidth = 80;

// What the page has where it is shown: a terminal that is narrower than the 80 columns by which texts are laid out says
// so once, and `wrap` breaks that much earlier. Tables and commands stay as they are.
void set_page_width(std::size_t columns);
std::size_t page_width();

// Breaks at spaces and keeps the line breaks it is given; continuation lines are indented by `indent`. A word longer
// than a line is left whole.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

// "1 run", "2 runs".
std::string count_of(std::size_t count, std::string_view one);

// A sentence of a section as a line of its own, two columns in; continuation lines four.
std::string indented_line(std::string_view text);

// Columns as a person reads UTF-8 text: continuation bytes take no room.
std::size_t columns(std::string_view text);

// Shortens in the middle: "backbone…conv1".
std::string shorten(std::string_view text, std::size_t width);

enum class Align { kLeft, kRight };

struct Column {
  Align align = Align::kLeft;
  std::size_t most = 40;  // longer cells are shortened
};

// Two spaces before the first column and between columns; no trailing spaces. The first row may be a heading. Line
// breaks in a cell are shown as spaces.
std::string table(const std::vector<Column>& columns, std::vector<std::vector<std::string>> rows);

// The signs of our own pages for terminals without UTF-8: "[+]" for "[✓]". All else stays.
std::string in_ascii(std::string_view text);

// The marks [✓] [!] [✗] in green, yellow and red, for terminals.
std::string paint_marks(std::string_view text);

}  // namespace vramfit::report

#endif
