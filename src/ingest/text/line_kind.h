// What a line of a text is: source, an error that a program printed, or prose that somebody wrote around them.
#ifndef VRAMFIT_INGEST_TEXT_LINE_KIND_H
#define VRAMFIT_INGEST_TEXT_LINE_KIND_H

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::ingest {

// A line of a program's source, a shell's or a diff's; `line` is without prefix.
bool is_code(std::string_view line);
// Something that a program printed as an error: "ValueError: ...", "slurmstepd: error: ...".
bool is_error_line(std::string_view line);
// Words of somebody, not a program's: neither code nor table nor error.
bool is_prose(std::string_view line);

// "- ", "* ", "> ", "## ", "1. ", "- [x] ": what stands before the words of a line is left out.
std::string_view without_bullet(std::string_view line);
// The words in lower case; a comma, a colon and the like are the word ",". Names of programs with their underscores and
// dots are one.
std::vector<std::string> split_words(std::string_view text);

}  // namespace vramfit::ingest

#endif
