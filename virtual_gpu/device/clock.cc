#include "virtual_gpu/device/clock.h"

#include <time.h>

#include <atomic>

namespace vramfit::device {
namespace {

std::atomic<int64_t> now_ns{1};
std::atomic<int64_t> last_submission_ns{0};

int64_t wall_ns() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

int64_t host_now() { return now_ns.load(std::memory_order_relaxed); }

void advance_host(int64_t by_ns) { now_ns.fetch_add(by_ns, std::memory_order_relaxed); }

void host_reaches(int64_t at) {
  int64_t now = host_now();
  while (now < at && !now_ns.compare_exchange_weak(now, at, std::memory_order_relaxed)) {
  }
}

void note_submission() { last_submission_ns.store(wall_ns(), std::memory_order_relaxed); }

bool has_caught_up() { return wall_ns() - last_submission_ns.load(std::memory_order_relaxed) > 1'000'000'000; }

}  // namespace vramfit::device
