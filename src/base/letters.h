// Kinds and cases of ASCII letters, whatever the locale.
#ifndef VRAMFIT_BASE_LETTERS_H
#define VRAMFIT_BASE_LETTERS_H

#include <string>
#include <string_view>

namespace vramfit::base {

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
constexpr char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 32) : letter; }
constexpr std::string lowered(std::string_view text) {
  std::string low(text);
  for (char& letter : low) letter = lower(letter);
  return low;
}

}  // namespace vramfit::base

#endif
