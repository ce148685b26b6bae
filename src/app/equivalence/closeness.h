// When two numbers of two runs are the same, and how a difference is written.
#ifndef VRAMFIT_APP_EQUIVALENCE_CLOSENESS_H
#define VRAMFIT_APP_EQUIVALENCE_CLOSENESS_H

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace vramfit::app {

// Sums of a batch's numbers, in whatever parts.
inline constexpr double kDataShare = 1e-6;

inline bool is_close(double a, double b, double share) {
  return std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b));
}

// Whether two sums of numbers about as large as 1, which may cancel, are the same.
inline bool is_same_sum(double a, double b) { return std::abs(b - a) <= kDataShare * std::max(1.0, std::abs(a)); }

inline std::string percent(double share) {
  if (share >= 0.1) return fmt::format("{:.0f} %", 100 * share);
  return fmt::format("{:.2g} %", 100 * share);
}

}  // namespace vramfit::app

#endif
