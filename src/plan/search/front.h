// Memory against time: the plans that no other beats in what it takes from the training, in time and in memory at once.
#ifndef VRAMFIT_PLAN_SEARCH_FRONT_H
#define VRAMFIT_PLAN_SEARCH_FRONT_H

#include <cstddef>
#include <span>
#include <vector>

#include "plan/search/candidate.h"

namespace vramfit::plan {

struct FrontOptions {
  double least_gain = 0.03;        // share of the memory that a slower plan has to save to be shown
  std::size_t most_of_a_tier = 4;  // the fastest and the smallest of each, and others between
};

// The front among all candidates that the target accepts, whether or not they fit its card: ordered by how much they
// change the training, then from the fastest to the smallest. All figures are predicted, by playing where that is
// possible.
std::vector<Explained> find_front(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                                  std::span<const Candidate> candidates, const FrontOptions& options = {});

}  // namespace vramfit::plan

#endif
