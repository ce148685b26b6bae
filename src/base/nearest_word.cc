#include "base/nearest_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/edit_distance.h"

namespace vramfit::base {
namespace {

// Letters. Nobody misspells a word of more, and the comparison takes their square.
constexpr std::size_t kLongest = 256;
constexpr std::size_t kShortestShort = 3;

// "bf16" of "bfloat16".
bool is_short_for(std::string_view word, std::string_view known) {
  if (word.size() < kShortestShort || known.empty() || word.front() != known.front()) return false;
  std::size_t found = 0;
  for (const char letter : known) found += found < word.size() && word[found] == letter;
  return found == word.size();
}

std::optional<std::string> only_long_form(std::string_view word, const std::vector<std::string>& known) {
  const auto is_meant = [&](const std::string& one) { return is_short_for(word, one); };
  const auto found = std::ranges::find_if(known, is_meant);
  if (found == known.end() || std::ranges::any_of(found + 1, known.end(), is_meant)) return std::nullopt;
  return *found;
}

// "memory_bytes" of "memmory": what was typed is near a name's first words. The shortest of such names.
std::optional<std::string> nearest_beginning(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kLeast = 4;
  std::optional<std::string> nearest;
  if (word.size() < kLeast) return nearest;
  std::pair best(word.size() / 3, kLongest);  // mistakes, length
  for (const std::string& one : known) {
    for (std::size_t end = one.find('_'); end != std::string::npos; end = one.find('_', end + 1)) {
      const std::pair found(edit_distance(word, std::string_view(one).substr(0, end)), one.size());
      if (found >= best) continue;
      best = found;
      nearest = one;
    }
  }
  return nearest;
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  if (word.size() > kLongest) return nearest;
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  for (const std::string& one : known) {
    const std::size_t distance = edit_distance(word, one);
    if (distance < least) {
      least = distance;
      nearest = one;
    }
  }
  if (!nearest) nearest = only_long_form(word, known);
  return nearest ? nearest : nearest_beginning(word, known);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const auto nearest = nearest_word(word, known);
  return nearest ? fmt::format("; did you mean {}?", *nearest) : "";
}

}  // namespace vramfit::base
