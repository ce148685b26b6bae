#include "sweep/largest_search.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::sweep {

std::optional<std::int64_t> LargestSearch::next() const {
  if (!obstacle_.empty()) return std::nullopt;
  if (!fits_ && !too_large_) return low_;
  if (!fits_) return *too_large_ > low_ ? std::optional(low_ + (*too_large_ - low_) / 2) : std::nullopt;
  if (!too_large_) return *fits_ < high_ ? std::optional(std::min(high_, *fits_ * 2)) : std::nullopt;
  return *too_large_ - *fits_ > 1 ? std::optional(*fits_ + (*too_large_ - *fits_) / 2) : std::nullopt;
}

void LargestSearch::tell(std::int64_t number, const model::TrialResult& result) {
  if (result.fits()) {
    fits_ = std::max(fits_.value_or(number), number);
  } else if (result.verdict == "out_of_memory" || result.verdict == "borderline") {
    if (too_large_ && number >= *too_large_) return;
    too_large_ = number;
    is_borderline_ = result.verdict == "borderline";
  } else {
    // Neither fits nor runs out: to go on either way would be a guess.
    obstacle_ = fmt::format("{}: {}{}{}", number, result.verdict, result.reason.empty() ? "" : ", ", result.reason);
  }
}

}  // namespace vramfit::sweep
