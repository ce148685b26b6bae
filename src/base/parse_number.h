// Text that is a number and nothing else.
#ifndef VRAMFIT_BASE_PARSE_NUMBER_H
#define VRAMFIT_BASE_PARSE_NUMBER_H

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace vramfit::base {

// Nothing where anything stands before or behind the number (spaces and a plus too), or where it is out of range.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

template <std::integral T>
std::optional<T> parse_number_in_base(std::string_view text, int base) {
  T number{};
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number, base);
  return problem == std::errc{} && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace vramfit::base

#endif
