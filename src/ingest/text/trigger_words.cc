#include "ingest/text/trigger_words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

// How rare a letter is in logs, roughly: blanks and the commonest letters least.
int rarity(char letter) {
  if (letter == ' ' || letter == ':') return 0;
  if (is_digit(letter)) return 1;
  static constexpr std::array<std::string_view, 4> kClasses{"etaoins", "rhldcup", "mfgwyb", "vkxjqz_"};
  for (std::size_t i = 0; i < kClasses.size(); ++i) {
    if (kClasses[i].contains(letter)) return static_cast<int>(i) + 1;
  }
  return 4;
}

}  // namespace

TriggerWords::TriggerWords() : known_(std::size_t{1} << kBits) {}

// Letters and their capitals differ in one bit, which is set; what else that makes alike is told apart afterwards.
std::uint32_t TriggerWords::hash(const char* letters) {
  std::uint32_t four = 0;
  std::memcpy(&four, letters, sizeof four);
  return ((four | 0x20202020u) * 0x9e3779b1u) >> (32 - kBits);
}

void TriggerWords::add_gram(std::uint16_t word, std::size_t offset) {
  const std::uint32_t cell = hash(words_[word].text.data() + offset);
  known_[cell] = 1;
  entries_.insert({cell, Entry{word, static_cast<std::uint8_t>(offset)}});
}

void TriggerWords::add(std::string_view word, std::uint32_t owner) {
  if (word.size() < kShortest || word.size() > 64)
    throw std::logic_error("a trigger word is too short or long: " + std::string(word));
  for (const char letter : word) {
    if (lower(letter) != letter) throw std::logic_error("a trigger word is not lower case: " + std::string(word));
  }
  std::size_t best = 0;
  int best_rarity = -1;
  for (std::size_t offset = 0; offset + kGram < word.size(); ++offset) {
    int sum = 0;
    for (std::size_t i = 0; i <= kGram; ++i) sum += rarity(word[offset + i]);
    if (sum > best_rarity) best = offset, best_rarity = sum;
  }
  const auto index = static_cast<std::uint16_t>(words_.size());
  words_.push_back({std::string(word), owner});
  add_gram(index, best);
  add_gram(index, best + 1);
}

TriggerWords::Hit TriggerWords::find(std::string_view text, std::size_t from) const {
  for (std::size_t at = from; at + kGram <= text.size(); at += 2) {
    const std::uint32_t cell = hash(text.data() + at);
    if (known_[cell] == 0) [[likely]]
      continue;
    Hit hit;
    for (auto [one, last] = entries_.equal_range(cell); one != last; ++one) {
      const Entry& entry = one->second;
      const Word& word = words_[entry.word];
      if (at < from + entry.offset || at - entry.offset + word.text.size() > text.size()) continue;
      const std::size_t begin = at - entry.offset;
      if (!same_ignoring_case(text.substr(begin, word.text.size()), word.text)) continue;
      hit.begin = std::min(hit.begin, begin);
      hit.end = std::max(hit.end, begin + word.text.size());
      hit.owners |= word.owner;
    }
    if (hit.owners != 0) return hit;
  }
  return {};
}

std::uint32_t TriggerWords::owners_in(std::string_view text) const {
  std::uint32_t owners = 0;
  for (std::size_t at = 0; at + kGram <= text.size(); ++at) {
    const std::uint32_t cell = hash(text.data() + at);
    if (known_[cell] == 0) [[likely]]
      continue;
    for (auto [one, last] = entries_.equal_range(cell); one != last; ++one) {
      const Entry& entry = one->second;
      const Word& word = words_[entry.word];
      if ((owners & word.owner) == word.owner || at < entry.offset) continue;
      if (same_ignoring_case(text.substr(at - entry.offset, word.text.size()), word.text)) owners |= word.owner;
    }
  }
  return owners;
}

}  // namespace vramfit::ingest
