// One line of a log as a person would read it: valid UTF-8, without colours, cursor movements and NUL bytes.
#ifndef VRAMFIT_INGEST_TEXT_LINE_TEXT_H
#define VRAMFIT_INGEST_TEXT_LINE_TEXT_H

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::ingest {

struct LineText {
  std::string text;
  bool latin1 = false;  // had bytes that are no UTF-8; they are read as Latin-1
};

// Takes out ANSI escapes (real ones, and those whose ESC byte was lost: "[0;31m"), NULs and other control bytes, and
// turns no-break spaces and the entities of a copied web page into what they stand for. Tabs stay.
LineText clean_line(std::string_view raw);

// The last line of `before`, cleaned, and takes it off; lines without letters at the end are skipped.
std::string take_line_above(std::string_view& before);

// A line of JSON that carries the lines of a log (a notebook's output, docker's json-file): each line by itself.
// Any other line is the only one in the list.
std::vector<std::string> unpack_line(std::string_view raw);

// Cuts it to at most `bytes`, never within a letter.
std::string cut_text(std::string_view text, std::size_t bytes);

}  // namespace vramfit::ingest

#endif
