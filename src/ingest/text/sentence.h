// Prose that people write around a log: its sentences, their words, and their mood. "When a job is killed, the
// scheduler should say so" has all the words of a failure, and nothing failed.
#ifndef VRAMFIT_INGEST_TEXT_SENTENCE_H
#define VRAMFIT_INGEST_TEXT_SENTENCE_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit::ingest {

enum class Mood {
  kAsserted,      // it is said that it is so
  kAsked,         // a question
  kHypothetical,  // a wish, a condition, what may happen to anybody
  kInstruction,   // what is to be done, or was changed in a program: "Fix a crash in the export"
};

struct Sentence {
  std::string text;
  std::vector<std::string> words;  // lower case; names of programs with their underscores and dots are one
  Mood mood = Mood::kAsserted;
  std::int64_t line = 0;  // the first and
  std::int64_t last_line = 0;

  // The first word from `from` on that one of `stems` begins; size() if none does.
  std::size_t find_stem(std::initializer_list<std::string_view> stems, std::size_t from = 0) const;
  std::size_t find_word(std::initializer_list<std::string_view> any, std::size_t from = 0) const;
  bool has_stem(std::initializer_list<std::string_view> stems) const { return find_stem(stems) < words.size(); }
  bool has_word(std::initializer_list<std::string_view> any) const { return find_word(any) < words.size(); }
  bool is_of_writer() const;  // "I", "my", "we": what somebody saw
  // Whether such words would be known: of a script that is not Latin they are not.
  bool can_tell_writer() const;
};

// What a question says before it asks: "memory climbs until it is killed, how can I fix it?" None: it only asks.
std::optional<Sentence> said_before_question(const Sentence& question);

// The sentences of prose. Ends of lines are none of sentences.
std::vector<Sentence> split_sentences(std::string_view text, std::int64_t line, std::int64_t last_line);

}  // namespace vramfit::ingest

#endif
