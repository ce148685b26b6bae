#include "virtual_gpu/cufft/work_area.h"

#include <gtest/gtest.h>

namespace vramfit::cufft {
namespace {

TEST(WorkArea, a_short_transform_needs_none) { EXPECT_EQ(work_bytes({1024}, 64, 8, false), 0); }

TEST(WorkArea, two_dimensions_hold_one_copy_of_the_signal) {
  EXPECT_EQ(work_bytes({256, 256}, 4, 8, false), 4 * 256 * 256 * 8);
}

TEST(WorkArea, a_real_signal_has_half_the_elements_and_one) {
  EXPECT_EQ(work_bytes({256, 256}, 1, 8, true), 256 * 129 * 8);
}

TEST(WorkArea, a_large_prime_length_goes_through_a_longer_power_of_two) {
  EXPECT_EQ(work_bytes({1009}, 1, 8, false), 2048 * 8);
}

}  // namespace
}  // namespace vramfit::cufft
