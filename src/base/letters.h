// Kinds of ASCII letters, whatever the locale.
#ifndef VRAMFIT_BASE_LETTERS_H
#define VRAMFIT_BASE_LETTERS_H

namespace vramfit::base {

constexpr bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

}  // namespace vramfit::base

#endif
