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

TriggerWords::TriggerWords() : known_(std::size_t{1} << kBits), last_(std::size_t{1} << kBits, kEnd) {}

// Letters and their capitals differ in one bit, which is set; what else that makes alike is told apart afterwards.
std::uint32_t TriggerWords::letters_at(const char* text) {
  std::uint32_t four = 0;
  std::memcpy(&four, text, sizeof four);
  return four | 0x20202020u;
}

void TriggerWords::add_gram(std::uint16_t word, std::size_t offset) {
  const std::uint32_t letters = letters_at(words_[word].text.data() + offset);
  const std::uint32_t cell = hash(letters);
  known_[cell] = 1;
  entries_.push_back({letters, word, last_[cell], static_cast<std::uint8_t>(offset)});
  last_[cell] = static_cast<std::uint16_t>(entries_.size() - 1);
}

template <class Take>
void TriggerWords::for_each_at(const char* text, Take take) const {
  const std::uint32_t letters = letters_at(text);
  const std::uint32_t cell = hash(letters);
  if (known_[cell] == 0) [[likely]]
    return;
  for (std::uint16_t at = last_[cell]; at != kEnd; at = entries_[at].next) {
    if (entries_[at].letters == letters) take(entries_[at]);
  }
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
    Hit hit;
    for_each_at(text.data() + at, [&](const Entry& entry) {
      const Word& word = words_[entry.word];
      if (at < from + entry.offset || at - entry.offset + word.text.size() > text.size()) return;
      const std::size_t begin = at - entry.offset;
      if (!same_ignoring_case(text.substr(begin, word.text.size()), word.text)) return;
      hit.begin = std::min(hit.begin, begin);
      hit.end = std::max(hit.end, begin + word.text.size());
      hit.owners |= word.owner;
    });
    if (hit.owners != 0) return hit;
  }
  return {};
}

std::uint32_t TriggerWords::owners_in(std::string_view text) const {
  std::uint32_t owners = 0;
  for (std::size_t at = 0; at + kGram <= text.size(); at += 2) {
    for_each_at(text.data() + at, [&](const Entry& entry) {
      const Word& word = words_[entry.word];
      if ((owners & word.owner) == word.owner || at < entry.offset) return;
      if (same_ignoring_case(text.substr(at - entry.offset, word.text.size()), word.text)) owners |= word.owner;
    });
  }
  return owners;
}

}  // namespace vramfit::ingest
