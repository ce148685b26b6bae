// The search for the largest number that fits: doubling until one does not, then halving the gap. Every answer it gives
// was run; it assumes that what is larger needs more, and says so by naming both neighbours.
#ifndef VRAMFIT_SWEEP_LARGEST_SEARCH_H
#define VRAMFIT_SWEEP_LARGEST_SEARCH_H

#include <cstdint>
#include <optional>
#include <string>

#include "model/sweep.h"

namespace vramfit::sweep {

class LargestSearch {
 public:
  LargestSearch(std::int64_t low, std::int64_t high) : low_(low), high_(high) {}

  // The number to run next; nothing when the answer is known or can't be.
  std::optional<std::int64_t> next() const;
  void tell(std::int64_t number, const model::TrialResult& result);
  // A trial that has no result.
  void give_up(std::string why) { obstacle_ = std::move(why); }

  model::Largest answer(std::vector<std::string> values) const {
    return {std::move(values), fits_, too_large_, obstacle_, is_borderline_};
  }

 private:
  std::int64_t low_, high_;
  std::optional<std::int64_t> fits_, too_large_;
  bool is_borderline_ = false;
  std::string obstacle_;
};

}  // namespace vramfit::sweep

#endif
