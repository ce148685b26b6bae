// What people say of memory in their own words.
#ifndef VRAMFIT_MODEL_TOLD_SENTENCE_H
#define VRAMFIT_MODEL_TOLD_SENTENCE_H

#include "model/source_line.h"

namespace vramfit::model {

// What a sentence of a person's says of memory, or of a program or machine that it stopped.
enum class ToldKind {
  kRises,      // it grows with time: "goes up with each epoch", "keeps growing until it crashes"
  kTrouble,    // it is full, too much, not given back; a machine froze, a process died
  kIsWell,     // it is level, there is enough; or it no longer fails
  kMentioned,  // it is spoken of, and not judged
};
enum class ToldOf { kUnknown, kCard, kHost };  // whose memory; kUnknown: "the memory", or none is named

struct ToldSentence {
  SourceLine at;
  ToldKind kind = ToldKind::kMentioned;
  ToldOf of = ToldOf::kUnknown;
  bool names_memory = true;    // false: only that something stopped
  bool denies_growth = false;  // "there is no increase"
  friend bool operator==(const ToldSentence&, const ToldSentence&) = default;
};

}  // namespace vramfit::model

#endif
