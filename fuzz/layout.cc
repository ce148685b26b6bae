// Text of the user's own (names, messages) in any encoding: wrapping keeps every word, and nothing is wider than asked
// except a word that is.
#include "report/layout.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t width = 8 + data[0] % 100, indent = data[1] % 8;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string wrapped = vramfit::report::wrap(text, width, indent);
  const auto is_space = [](char c) { return c == ' ' || c == '\n'; };
  std::string before, after;
  for (const char c : text) before += is_space(c) ? std::string() : std::string(1, c);
  for (const char c : wrapped) after += is_space(c) ? std::string() : std::string(1, c);
  if (before != after) std::abort();
  vramfit::report::shorten(text, width);
  return 0;
}
