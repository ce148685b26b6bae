#include "ingest/text/trigger_words.h"

#include <algorithm>
#include <stdexcept>

#include "ingest/text/cursor.h"

namespace vramfit::ingest {
namespace {

// Letters differ from their capitals in one bit, which is left out; other signs share cells, and are compared anyway.
constexpr std::size_t cell(char first, char second) {
  return (static_cast<std::size_t>(static_cast<unsigned char>(first) & 0x1f) << 7 ^
          static_cast<std::size_t>(static_cast<unsigned char>(second) & 0xdf)) &
         0xfff;
}

}  // namespace

void TriggerWords::add(std::string_view word, std::uint32_t owner) {
  if (word.size() < kShortest) throw std::logic_error("a trigger word is too short: " + std::string(word));
  for (const char letter : word) {
    if (lower(letter) != letter) throw std::logic_error("a trigger word is not lower case: " + std::string(word));
  }
  for (std::size_t i = 1; i < kShortest; ++i) {
    auto& shift = shift_[cell(word[i - 1], word[i])];
    shift = std::min(shift, static_cast<std::uint8_t>(kShortest - 1 - i));
  }
  ending_[cell(word[kShortest - 2], word[kShortest - 1])].push_back(static_cast<std::uint16_t>(words_.size()));
  words_.push_back({std::string(word), owner});
}

TriggerWords::Hit TriggerWords::find(std::string_view text, std::size_t from) const {
  // `at` is where the kShortest'th letter of a word would be.
  std::size_t at = from + kShortest - 1;
  while (at < text.size()) {
    const std::size_t here = cell(text[at - 1], text[at]);
    if (shift_[here] > 0) {
      at += shift_[here];
      continue;
    }
    const std::size_t begin = at + 1 - kShortest;
    Hit hit;
    for (const std::uint16_t index : ending_[here]) {
      const Word& word = words_[index];
      const std::string_view candidate = text.substr(begin, word.text.size());
      if (candidate.size() < word.text.size() || !same_ignoring_case(candidate, word.text)) continue;
      hit.at = begin + 1;
      hit.owners |= word.owner;
    }
    if (hit.owners != 0) return hit;
    ++at;
  }
  return {};
}

std::uint32_t TriggerWords::owners_in(std::string_view text) const {
  std::uint32_t owners = 0;
  for (Hit hit = find(text, 0); hit.owners != 0; hit = find(text, hit.at)) owners |= hit.owners;
  return owners;
}

}  // namespace vramfit::ingest
