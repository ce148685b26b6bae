// The moment of each card that a result explains: its fullest, or the out-of-memory error that ended the job.
#ifndef VRAMFIT_FACTS_EXPLANATION_H
#define VRAMFIT_FACTS_EXPLANATION_H

#include <map>
#include <string>
#include <vector>

#include "facts/run_facts.h"

namespace vramfit::facts {

struct Explanation {
  std::map<int, std::string> phases;    // by device: the phase that the moment is of
  std::vector<model::OwnerRow> owners;  // who held the card, by device
  std::vector<model::LineRow> lines;    // the script's lines that allocated it
  std::vector<model::TimelinePoint> timeline;
  model::RuntimeEvidence evidence;  // what the run showed (facts.evidence), with the logits that lived then
};

// `ran_out`: an error of want of memory ended the job. The last such error of a card is its moment then.
Explanation explain(const RunFacts& facts, bool ran_out);

}  // namespace vramfit::facts

#endif
