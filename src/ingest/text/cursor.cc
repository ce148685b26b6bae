#include "ingest/text/cursor.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/parse_number.h"

namespace vramfit::ingest {
namespace {

constexpr std::size_t kLongestNumber = 32;  // characters

std::string_view number_text(std::string_view text, bool fraction) {
  std::size_t end = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  bool dot = false;
  while (end < text.size()) {
    const bool is_dot = fraction && !dot && text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1]);
    if (!is_digit(text[end]) && !is_dot) break;
    dot |= is_dot;
    ++end;
  }
  return text.substr(0, end);
}

// The cursor behind `label`, over what usually stands between a name and its value.
std::optional<Cursor> after(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  Cursor cursor(text.substr(at + label.size()));
  cursor.take_while([](char letter) { return is_blank(letter) || letter == '=' || letter == ':' || letter == '"'; });
  return cursor;
}

}  // namespace

std::string_view trim(std::string_view text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == '\r')) text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::size_t find_ignoring_case(std::string_view text, std::string_view lower_case, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (lower_case.empty()) return from;
  if (text.size() < lower_case.size()) return std::string_view::npos;
  // Sixteen places at once: where the first letter and the last one are right, but for the bit that tells capitals
  // apart.
  //
  //   text   C U D A   o u t   o f   m e m o r y        word  "out of"
  //                    o . . . . f                      both ends fit: the rest is compared
  const std::size_t length = lower_case.size();
  const __m128i bit = _mm_set1_epi8(0x20);
  const __m128i first = _mm_set1_epi8(static_cast<char>(lower_case.front() | 0x20));
  const __m128i last = _mm_set1_epi8(static_cast<char>(lower_case.back() | 0x20));
  const auto load = [&](std::size_t at) {
    return _mm_or_si128(_mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at)), bit);
  };
  std::size_t at = from;
  for (; at + length - 1 + sizeof(__m128i) <= text.size(); at += sizeof(__m128i)) {
    const __m128i fits = _mm_and_si128(_mm_cmpeq_epi8(load(at), first), _mm_cmpeq_epi8(load(at + length - 1), last));
    for (auto places = static_cast<std::uint32_t>(_mm_movemask_epi8(fits)); places != 0; places &= places - 1) {
      const std::size_t place = at + static_cast<std::size_t>(std::countr_zero(places));
      if (same_ignoring_case(text.substr(place, length), lower_case)) return place;
    }
  }
  for (; at + length <= text.size(); ++at) {
    if (same_ignoring_case(text.substr(at, length), lower_case)) return at;
  }
  return std::string_view::npos;
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  text = trim(text);
  if (text.empty() || text.size() > kLongestNumber) return std::nullopt;
  std::string digits;
  for (const char letter : text) {
    if (letter != ',' && letter != '_') digits += letter;
  }
  return base::parse_number<std::int64_t>(std::string_view(digits).substr(digits.starts_with('+') ? 1 : 0));
}

std::optional<double> to_number(std::string_view text) { return base::parse_number<double>(trim(text)); }

void Cursor::skip_blanks() {
  while (is_blank(peek()) && !at_end()) ++at_;
}

bool Cursor::take(std::string_view literal) {
  if (!rest().starts_with(literal)) return false;
  at_ += literal.size();
  return true;
}

bool Cursor::take_word(std::string_view literal) {
  const std::size_t before = at_;
  skip_blanks();
  if (take(literal)) return true;
  at_ = before;
  return false;
}

bool Cursor::pass(std::string_view literal) {
  const std::size_t found = text_.find(literal, at_);
  if (found == std::string_view::npos) return false;
  at_ = found + literal.size();
  return true;
}

std::string_view Cursor::take_until(std::string_view literal) {
  const std::size_t found = text_.find(literal, at_);
  const std::string_view taken = text_.substr(std::min(at_, text_.size()), found - at_);
  at_ = found == std::string_view::npos ? text_.size() : found + literal.size();
  return taken;
}

std::string_view Cursor::take_while(bool (*is_wanted)(char)) {
  const std::size_t before = at_;
  while (!at_end() && is_wanted(text_[at_])) ++at_;
  return text_.substr(before, at_ - before);
}

std::optional<std::int64_t> Cursor::take_integer() {
  const std::string_view number = number_text(rest(), false);
  const auto value = to_integer(number);
  if (value) at_ += number.size();
  return value;
}

std::optional<double> Cursor::take_number() {
  const std::string_view number = number_text(rest(), true);
  const auto value = to_number(number);
  if (value) at_ += number.size();
  return value;
}

std::optional<std::int64_t> integer_after(std::string_view text, std::string_view label) {
  auto cursor = after(text, label);
  return cursor ? cursor->take_integer() : std::nullopt;
}

std::optional<double> number_after(std::string_view text, std::string_view label) {
  auto cursor = after(text, label);
  return cursor ? cursor->take_number() : std::nullopt;
}

}  // namespace vramfit::ingest
