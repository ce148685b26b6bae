// What is looked at of a TOML text before toml++ reads it.
#ifndef VRAMFIT_INGEST_TOML_TEXT_H
#define VRAMFIT_INGEST_TOML_TEXT_H

#include <optional>
#include <string_view>

namespace vramfit::ingest {

// The line, from 1 on, of the first letter outside ASCII that stands neither in quotes nor in a comment, or of the
// first control character: no TOML, and undefined behaviour in toml++ 3.3 (is_non_ascii_horizontal_whitespace has no
// answer for U+00A1 to U+0499; what stands in quotes after a control character it takes for what does not).
std::optional<int> find_foreign_letter(std::string_view text);

}  // namespace vramfit::ingest

#endif
