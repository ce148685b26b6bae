#include "base/nearest_word.h"

#include <algorithm>

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
  return nearest ? nearest : only_long_form(word, known);
}

}  // namespace vramfit::base
