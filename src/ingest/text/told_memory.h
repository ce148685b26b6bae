// What a sentence of prose says of memory, by its parts: whose memory, what it does (grows, is full, is level, is not
// given back), with what rhythm. Order, tense and the words between them do not count.
#ifndef VRAMFIT_INGEST_TEXT_TOLD_MEMORY_H
#define VRAMFIT_INGEST_TEXT_TOLD_MEMORY_H

#include <optional>

#include "ingest/text/sentence.h"
#include "model/evidence.h"

namespace vramfit::ingest {

// "memory", "vram", "shm", "ooms", in whatever language; in lower case.
bool is_name_of_memory(std::string_view word);

// Nothing: it does not speak of memory, nor of anything that stopped. `before`: what the sentence before it told, to
// which "it" refers. The place is left open.
std::optional<model::ToldSentence> read_told(const Sentence& sentence,
                                             const std::optional<model::ToldSentence>& before);

}  // namespace vramfit::ingest

#endif
