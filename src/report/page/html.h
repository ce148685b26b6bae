// HTML text. Nothing reaches the page but through escape(): scripts, messages and notes may hold anything.
#ifndef VRAMFIT_REPORT_PAGE_HTML_H
#define VRAMFIT_REPORT_PAGE_HTML_H

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::report::page {

// Safe between tags and inside double-quoted attributes. Bytes that are no UTF-8, control characters and those that
// turn the direction of text become U+FFFD: a line of source must look like what it is.
std::string escape(std::string_view text);

// A part of the page with a heading of its own.
std::string heading(int level, std::string_view text);
std::string paragraph(std::string_view text, std::string_view css_class = {});

// Cells are HTML already: made by escape() or by a renderer.
struct TableColumn {
  std::string title;  // plain text
  bool is_number = false;
};

// The first cell of a row heads it. `caption` is plain text. Wide tables scroll sideways on their own.
std::string table(std::string_view caption, const std::vector<TableColumn>& columns,
                  const std::vector<std::vector<std::string>>& rows);

// Closed until somebody opens it.
std::string details(std::string_view summary, std::string_view html);

// <ul>; items are plain text. Empty without any.
std::string list(const std::vector<std::string>& items);

// What zoom.js listens to.
std::string zoom_buttons();

// "out_of_memory" as "out of memory".
std::string words_of(std::string_view name);

}  // namespace vramfit::report::page

#endif
