#include "memory_gauge.h"

#include <gtest/gtest.h>

#include "vramfit/vramfit.h"

namespace vramfit::recorder {
namespace {

TEST(MemoryGauge, a_card_that_reported_nothing_has_no_reading) {
  EXPECT_EQ(memory_reading(63, VF_MEMORY_ALLOCATED), -1);
  EXPECT_EQ(memory_reading(64, VF_MEMORY_ALLOCATED), -1);
  EXPECT_EQ(memory_reading(0, 4), -1);
}

TEST(MemoryGauge, peaks_hold_until_they_are_reset) {
  set_gauge(1, 100, 200);
  set_gauge(1, 300, 400);
  set_gauge(1, 50, 400);
  EXPECT_EQ(memory_reading(1, VF_MEMORY_ALLOCATED), 50);
  EXPECT_EQ(memory_reading(1, VF_MEMORY_PEAK_ALLOCATED), 300);
  EXPECT_EQ(memory_reading(1, VF_MEMORY_PEAK_RESERVED), 400);
  reset_peaks();
  EXPECT_EQ(memory_reading(1, VF_MEMORY_PEAK_ALLOCATED), 50);
  EXPECT_EQ(memory_reading(1, VF_MEMORY_RESERVED), 400);
}

}  // namespace
}  // namespace vramfit::recorder
