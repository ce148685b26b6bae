// Words of growth: which verbs say it, with what rhythm, and what denies it.
#ifndef VRAMFIT_INGEST_TEXT_GROWTH_WORDS_H
#define VRAMFIT_INGEST_TEXT_GROWTH_WORDS_H

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "ingest/text/sentence.h"

namespace vramfit::ingest {

// A part of a sentence that has a subject and a verb of its own.
struct Clause {
  std::size_t begin = 0, end = 0;
};

std::vector<Clause> split_clauses(const Sentence& sentence);

// The verb of growth in a clause, "climbs", "goes up", "gets larger"; its end if there is none.
std::size_t find_rising(const Sentence& sentence, const Clause& clause);
// The verb of giving back, "freed", "goes down"; the clause's end if there is none.
std::size_t find_release(const Sentence& sentence, const Clause& clause);
// "does not grow", and not "I am not sure why it grows".
bool is_denied(const Sentence& sentence, const Clause& clause, std::size_t verb);
// "each epoch", "over time", "until it crashes", "keeps", "steadily"
bool has_rhythm(const Sentence& sentence);
// "grows linearly with the number of tokens": with what somebody sets, not with time.
bool follows_a_size(const Sentence& sentence, std::size_t verb);
// What grows is the object: "when I increase the batch size", "on increasing the value".
bool is_of_other_things(const Sentence& sentence, std::size_t verb);
// The loss grows, the accuracy, the time of a step.
bool is_other_subject(const Sentence& sentence, const Clause& clause, std::size_t verb);
// "the more epochs, the more memory", "more memory the longer it runs"
bool rises_by_comparison(const Sentence& sentence);
// "10 MB behind after each pass", "about 400 MB more every epoch": an amount that comes again.
bool adds_an_amount(const Sentence& sentence);
// "A bit more stays allocated", "remains occupied"
bool is_said_to_stay(const Sentence& sentence);
// The same in the languages of other forums, verb and rhythm.
bool rises_abroad(std::string_view text);
bool is_level_abroad(std::string_view text);

}  // namespace vramfit::ingest

#endif
