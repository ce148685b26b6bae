// Walks over one line: what a reader expects is taken, or nothing is.
#ifndef VRAMFIT_INGEST_TEXT_CURSOR_H
#define VRAMFIT_INGEST_TEXT_CURSOR_H

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/letters.h"

namespace vramfit::ingest {

inline constexpr std::size_t kNowhere = std::string_view::npos;

using base::is_digit;
using base::lower;
constexpr bool is_letter(char letter) { return lower(letter) >= 'a' && lower(letter) <= 'z'; }
constexpr bool is_word(char letter) { return is_letter(letter) || is_digit(letter) || letter == '_'; }
constexpr bool is_blank(char letter) { return letter == ' ' || letter == '\t'; }

std::string_view trim(std::string_view text);
inline bool same_ignoring_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (lower(left[i]) != lower(right[i])) return false;
  }
  return true;
}
// The place where `lower_case` first is in `text`, in any case, from `from` on; npos if nowhere.
std::size_t find_ignoring_case(std::string_view text, std::string_view lower_case, std::size_t from = 0);
inline bool contains_ignoring_case(std::string_view text, std::string_view lower_case) {
  return find_ignoring_case(text, lower_case) != std::string_view::npos;
}
// Whether any of these words, which are in lower case, is in `text` in any case: an array of them, or a list in braces.
template <class Words = std::initializer_list<std::string_view>>
bool contains_any(std::string_view text, const Words& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return contains_ignoring_case(text, word); });
}
// Whole numbers with or without thousands separators; nothing when there is no digit or too many.
std::optional<std::int64_t> to_integer(std::string_view text);
std::optional<double> to_number(std::string_view text);

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  std::size_t position() const { return at_; }
  std::string_view rest() const { return text_.substr(at_); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }

  void skip_blanks();
  bool take(std::string_view literal);                    // exactly here
  bool take_word(std::string_view literal);               // after blanks
  bool pass(std::string_view literal);                    // anywhere from here on; stands behind it, or does not move
  std::string_view take_until(std::string_view literal);  // up to it, standing behind it; all the rest if absent
  std::string_view take_while(bool (*is_wanted)(char));
  std::optional<std::int64_t> take_integer();  // digits, with a sign
  std::optional<double> take_number();         // with a fraction

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// The number that follows `label` at its first occurrence, over blanks, '=' and ':'.
std::optional<std::int64_t> integer_after(std::string_view text, std::string_view label);
std::optional<double> number_after(std::string_view text, std::string_view label);

}  // namespace vramfit::ingest

#endif
