#include "memory_gauge.h"

#include <array>
#include <atomic>

#include "vramfit/vramfit.h"

namespace vramfit::recorder {

namespace {

constexpr uint32_t kCards = 64;

struct Gauge {
  std::array<std::atomic<int64_t>, 4> readings{-1, -1, -1, -1};  // by enum vf_memory
};

constinit std::array<Gauge, kCards> gauges{};

void raise(std::atomic<int64_t>& peak, int64_t value) {
  int64_t known = peak.load(std::memory_order_relaxed);
  while (known < value && !peak.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

void set_gauge(uint32_t device, size_t allocated, size_t reserved) {
  if (device >= kCards) return;
  auto& readings = gauges[device].readings;
  const auto allocated_bytes = static_cast<int64_t>(allocated);
  const auto reserved_bytes = static_cast<int64_t>(reserved);
  readings[VF_MEMORY_ALLOCATED].store(allocated_bytes, std::memory_order_relaxed);
  readings[VF_MEMORY_RESERVED].store(reserved_bytes, std::memory_order_relaxed);
  raise(readings[VF_MEMORY_PEAK_ALLOCATED], allocated_bytes);
  raise(readings[VF_MEMORY_PEAK_RESERVED], reserved_bytes);
}

int64_t memory_reading(uint32_t device, uint32_t what) {
  if (device >= kCards || what > VF_MEMORY_PEAK_RESERVED) return -1;
  return gauges[device].readings[what].load(std::memory_order_relaxed);
}

void reset_peaks() {
  for (Gauge& gauge : gauges) {
    auto& readings = gauge.readings;
    readings[VF_MEMORY_PEAK_ALLOCATED].store(readings[VF_MEMORY_ALLOCATED].load());
    readings[VF_MEMORY_PEAK_RESERVED].store(readings[VF_MEMORY_RESERVED].load());
  }
}

}  // namespace vramfit::recorder
