// What a sentence of prose tells of a failure by its grammar, whatever it is about otherwise.
#ifndef VRAMFIT_INGEST_TEXT_TOLD_SIGNS_H
#define VRAMFIT_INGEST_TEXT_TOLD_SIGNS_H

#include <vector>

#include "ingest/text/sentence.h"
#include "model/sentence_kind.h"

namespace vramfit::ingest {

// Adds the kinds, as `told_causes` does, of what the sentence says to be so.
void add_told_signs(const Sentence& sentence, std::vector<model::SentenceKind>& causes);

}  // namespace vramfit::ingest

#endif
