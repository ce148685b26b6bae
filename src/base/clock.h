// Time as something passed in, so that whatever waits or searches can be tested without waiting.
#ifndef VRAMFIT_BASE_CLOCK_H
#define VRAMFIT_BASE_CLOCK_H

#include <cstdint>

namespace vramfit::base {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t now_ns() const = 0;  // monotonic, from an arbitrary start
};

// CLOCK_MONOTONIC: the clock that recordings use too.
const Clock& steady_clock();

// The time of the wall clock, since 1970.
std::int64_t unix_now_ms();

inline double seconds_between(std::int64_t start_ns, std::int64_t end_ns) {
  return static_cast<double>(end_ns - start_ns) * 1e-9;
}

}  // namespace vramfit::base

#endif
