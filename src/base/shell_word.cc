#include "base/shell_word.h"

namespace vramfit::base {

std::string in_single_quotes(std::string_view word) {
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'') {
      quoted += "'\\''";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string quote_for_shell(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  const bool is_plain = !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
  return is_plain ? std::string(word) : in_single_quotes(word);
}

}  // namespace vramfit::base
