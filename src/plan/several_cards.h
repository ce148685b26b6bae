// What each of several cards would hold of this job, by the ways there are to share one: copies that split the batch,
// shards, layers cut in themselves, layers in stages. Arithmetic with the job's own figures, in sentences: no plan does
// it, and nothing of it was run.
#ifndef VRAMFIT_PLAN_SEVERAL_CARDS_H
#define VRAMFIT_PLAN_SEVERAL_CARDS_H

#include <string>
#include <vector>

#include "plan/technique.h"

namespace vramfit::plan {

// Empty where the job fits one card. Else the first count of 2, 4 or 8 cards like the target's at which shards fit.
std::vector<std::string> advise_several_cards(const model::Job& job, const Target& target);

}  // namespace vramfit::plan

#endif
