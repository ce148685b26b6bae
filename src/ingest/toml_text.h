// TOML from people's files, read by toml++.
#ifndef VRAMFIT_INGEST_TOML_TEXT_H
#define VRAMFIT_INGEST_TOML_TEXT_H

#include <toml++/toml.h>

#include <expected>
#include <string>
#include <string_view>

namespace vramfit::ingest {

struct TomlError {
  std::string what;
  int line = 1;
};

// toml++ 3.3 runs into undefined behaviour on some letters outside ASCII that stand outside of quotes
// (is_non_ascii_horizontal_whitespace has no answer for U+00A1 to U+0499), and on what follows a control character. So
// it is given ASCII alone: other bytes as %XX, which stands in strings and comments and nowhere else. Control
// characters are refused.
std::expected<toml::table, TomlError> read_toml(std::string_view text);

}  // namespace vramfit::ingest

#endif
