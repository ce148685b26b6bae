// Finds any of some hundred words in text at more than a gigabyte a second, so that the lines nobody reads cost
// nothing.
#ifndef VRAMFIT_INGEST_TEXT_TRIGGER_WORDS_H
#define VRAMFIT_INGEST_TEXT_TRIGGER_WORDS_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::ingest {

// Wu and Manber's search: two letters at a time, skipping as far as no word can end. Case does not matter.
class TriggerWords {
 public:
  static constexpr std::size_t kShortest = 4;  // letters of the shortest word

  // `owner` is a bit that a hit of this word sets. Words are lower case and at least kShortest long.
  void add(std::string_view word, std::uint32_t owner);

  struct Hit {
    std::size_t at = std::string_view::npos;  // one behind where the word begins
    std::uint32_t owners = 0;
  };
  // The first word that begins at `from` or later.
  Hit find(std::string_view text, std::size_t from) const;
  // The owners of all words in `text`.
  std::uint32_t owners_in(std::string_view text) const;

 private:
  static constexpr std::size_t kCells = 1 << 12;
  struct Word {
    std::string text;
    std::uint32_t owner;
  };
  std::array<std::uint8_t, kCells> shift_ = [] {
    std::array<std::uint8_t, kCells> all{};
    all.fill(kShortest - 1);
    return all;
  }();
  std::array<std::vector<std::uint16_t>, kCells> ending_;  // words by the cell of their kShortest'th letter
  std::vector<Word> words_;
};

}  // namespace vramfit::ingest

#endif
