// Memory against time: the plans that no other beats in what it takes from the training, in time and in memory at once.
#ifndef VRAMFIT_PLAN_SEARCH_FRONT_H
#define VRAMFIT_PLAN_SEARCH_FRONT_H

#include <cstddef>
#include <span>
#include <vector>

#include "plan/search/candidate.h"

namespace vramfit::plan {

struct FrontOptions {
  double least_gain = 0.03;        // of the memory, that a slower plan has to save to be told
  std::size_t most_of_a_tier = 4;  // the fastest and the smallest of each, and others between
};

// Of all candidates, by what they take from the training and then from the fastest to the smallest. Predicted: what can
// be is played. Whether they fit the target's card does not matter; what it accepts does.
std::vector<Explained> find_front(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                                  std::span<const Candidate> candidates, const FrontOptions& options = {});

}  // namespace vramfit::plan

#endif
