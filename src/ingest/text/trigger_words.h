// Finds any of some hundred words in text at about a gigabyte a second, so that the lines nobody reads cost nothing.
#ifndef VRAMFIT_INGEST_TEXT_TRIGGER_WORDS_H
#define VRAMFIT_INGEST_TEXT_TRIGGER_WORDS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::ingest {

// Looks at four letters at every other place. Each word is known by the four rarest letters in a row that it has and
// the four that begin one later, so that one of the two is met wherever the word stands. Case does not matter.
//
//   text    r a n _ o u t _ o f _ m e m o r y        word  "out of memory"
//           |-----| |-----| |-----|                   kept  "t of", " of "
class TriggerWords {
 public:
  static constexpr std::size_t kShortest = 5;  // letters of the shortest word

  TriggerWords();
  // `owner` is a bit that a hit of this word sets. Words are lower case and at least kShortest long.
  void add(std::string_view word, std::uint32_t owner);

  struct Hit {
    std::size_t begin = std::string_view::npos, end = 0;  // of the word in the text
    std::uint32_t owners = 0;                             // 0: there is none
  };
  // A word that stands at `from` or later; others may begin a few letters before it, but none before `from`.
  Hit find(std::string_view text, std::size_t from) const;
  // The owners of all words in `text`.
  std::uint32_t owners_in(std::string_view text) const;

 private:
  static constexpr std::size_t kGram = 4;
  static constexpr int kBits = 16;  // of the hash: the table is as large as a first-level cache
  struct Word {
    std::string text;
    std::uint32_t owner;
  };
  static constexpr std::uint16_t kEnd = UINT16_MAX;
  struct Entry {
    std::uint32_t letters;  // the four, with the bit set that tells capitals apart
    std::uint16_t word;
    std::uint16_t next;   // of the same hash; kEnd: none
    std::uint8_t offset;  // of the four letters in the word
  };
  static std::uint32_t letters_at(const char* text);
  static std::uint32_t hash(std::uint32_t letters) { return (letters * 0x9e3779b1u) >> (32 - kBits); }
  void add_gram(std::uint16_t word, std::size_t offset);
  // Calls `take` with each entry that has the four letters at `text`.
  template <class Take>
  void for_each_at(const char* text, Take take) const;

  std::vector<std::uint8_t> known_;  // by hash: whether any word has it
  std::vector<std::uint16_t> last_;  // by hash, once it is known: the entry that was added last
  std::vector<Entry> entries_;
  std::vector<Word> words_;
};

}  // namespace vramfit::ingest

#endif
