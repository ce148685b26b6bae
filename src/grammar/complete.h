// What may stand at the end of a command line that is being typed.
#ifndef VRAMFIT_GRAMMAR_COMPLETE_H
#define VRAMFIT_GRAMMAR_COMPLETE_H

#include <functional>
#include <string>
#include <vector>

#include "grammar/grammar.h"

namespace vramfit::grammar {

struct Candidate {
  std::string word, help;
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// What the grammar does not hold: asked only where it is wanted.
struct Sources {
  std::function<std::vector<Candidate>()> cards, networks, runs;
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  // names of files may stand there
};

// `words`: those behind "vramfit", of which the last is what was typed of the next; empty after a space. Behind "--"
// stands the job's own command: files.
Completion complete(const VerbGrammar& all, const std::vector<std::string>& words, const Sources& sources);

}  // namespace vramfit::grammar

#endif
