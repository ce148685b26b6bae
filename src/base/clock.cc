#include "base/clock.h"

#include <ctime>

namespace vramfit::base {
namespace {

class SteadyClock final : public Clock {
 public:
  std::int64_t now_ns() const override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  }
};

}  // namespace

const Clock& steady_clock() {
  static const SteadyClock clock;
  return clock;
}

}  // namespace vramfit::base
