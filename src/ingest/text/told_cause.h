// What a sentence of prose says of who fills a card and of what cured or caused a failure: the writer was there.
#ifndef VRAMFIT_INGEST_TEXT_TOLD_CAUSE_H
#define VRAMFIT_INGEST_TEXT_TOLD_CAUSE_H

#include <vector>

#include "ingest/text/sentence.h"
#include "model/sentence_kind.h"

namespace vramfit::ingest {

// The kinds of what the sentence says, those of told_signs.h among them; none of a question, a wish or a condition.
std::vector<model::SentenceKind> told_causes(const Sentence& sentence);

}  // namespace vramfit::ingest

#endif
