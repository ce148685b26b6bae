#include "base/nearest_word.h"

#include <algorithm>

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
    std::vector<std::size_t> row(one.size() + 1);
    for (std::size_t i = 0; i <= one.size(); ++i) row[i] = i;
    for (std::size_t j = 1; j <= word.size(); ++j) {
      std::size_t diagonal = row[0];
      row[0] = j;
      for (std::size_t i = 1; i <= one.size(); ++i) {
        const std::size_t changed = diagonal + (one[i - 1] == word[j - 1] ? 0 : 1);
        diagonal = row[i];
        row[i] = std::min({changed, row[i] + 1, row[i - 1] + 1});
      }
    }
    if (row.back() < least) {
      least = row.back();
      nearest = one;
    }
  }
  return nearest ? nearest : only_long_form(word, known);
}

}  // namespace vramfit::base
