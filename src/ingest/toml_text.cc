#include "ingest/toml_text.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace vramfit::ingest {
namespace {

bool is_control(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return (code < 0x20 && letter != '\t' && letter != '\n' && letter != '\r') || code == 0x7F;
}

int line_of(std::string_view text, std::size_t at) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, at), '\n'));
}

}  // namespace

std::optional<int> find_foreign_letter(std::string_view text) {
  std::string quote;  // that ends the string we are in: ", ', """ or '''
  bool is_comment = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (is_control(letter)) return line_of(text, at);
    if (letter == '\n') {
      is_comment = false;
      if (quote.size() == 1) quote.clear();  // an error of its own, which toml++ tells
    } else if (is_comment) {
      continue;
    } else if (!quote.empty()) {
      if (quote.front() == '"' && letter == '\\') {
        ++at;
      } else if (text.substr(at).starts_with(quote)) {
        at += quote.size() - 1;
        quote.clear();
      }
    } else if (letter == '#') {
      is_comment = true;
    } else if (letter == '"' || letter == '\'') {
      const std::string three(3, letter);
      quote = text.substr(at).starts_with(three) ? three : std::string(1, letter);
      at += quote.size() - 1;
    } else if (static_cast<unsigned char>(letter) >= 0x80 && !(at == 0 && text.starts_with("\xEF\xBB\xBF"))) {
      return line_of(text, at);
    } else if (static_cast<unsigned char>(letter) >= 0x80) {
      at += 2;  // a byte order mark
    }
  }
  return std::nullopt;
}

}  // namespace vramfit::ingest
