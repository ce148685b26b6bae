#include "report/page/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "report/page/html.h"

namespace vramfit::report::page {

static_assert(std::endian::native == std::endian::little, "a page's arrays are little-endian");

namespace {

template <class Number>
std::string pack(std::string_view name, std::string_view type, const std::vector<Number>& values) {
  return fmt::format("<i data-array=\"{}\" data-type=\"{}\">{}</i>\n", name, type,
                     base64(std::as_bytes(std::span(values))));
}

}  // namespace

std::string base64(std::span<const std::byte> bytes) {
  static constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < count ? static_cast<std::uint32_t>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? kLetters[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::string packed(std::string_view name, const std::vector<std::uint16_t>& values) {
  return pack(name, "u16", values);
}

std::string packed(std::string_view name, const std::vector<std::uint32_t>& values) {
  return pack(name, "u32", values);
}

std::string packed(std::string_view name, const std::vector<double>& values) { return pack(name, "f64", values); }

std::string packed(std::string_view name, const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    if (!all.empty() || &text != &texts.front()) all += '\n';
    std::string line = text;
    std::ranges::replace_if(
        line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
    all += line;
  }
  return fmt::format("<i data-texts=\"{}\" data-count=\"{}\">{}</i>\n", name, texts.size(), escape(all));
}

}  // namespace vramfit::report::page
