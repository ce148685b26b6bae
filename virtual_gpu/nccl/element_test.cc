#include "virtual_gpu/nccl/element.h"

#include <gtest/gtest.h>

#include <vector>

#include "virtual_gpu/nccl/communicator.h"

namespace vramfit::nccl {
namespace {

constexpr int kInt64 = 4, kFloat16 = 6, kFloat32 = 7, kBrain16 = 9;

TEST(Element, sums_products_and_extremes_of_integers_are_exact) {
  const std::vector<int64_t> other = {5, -7, 1};
  std::vector<int64_t> sum = {1, 2, 3}, product = sum, most = sum, least = sum;
  combine(sum.data(), other.data(), 3, kInt64, kSum);
  combine(product.data(), other.data(), 3, kInt64, kProduct);
  combine(most.data(), other.data(), 3, kInt64, kMax);
  combine(least.data(), other.data(), 3, kInt64, kMin);
  EXPECT_EQ(sum, (std::vector<int64_t>{6, -5, 4}));
  EXPECT_EQ(product, (std::vector<int64_t>{5, -14, 3}));
  EXPECT_EQ(most, (std::vector<int64_t>{5, 2, 3}));
  EXPECT_EQ(least, (std::vector<int64_t>{1, -7, 1}));
}

TEST(Element, an_average_divides_after_adding) {
  std::vector<float> values = {1, 2}, other = {3, 5};
  combine(values.data(), other.data(), 2, kFloat32, kAverage);
  finish_average(values.data(), 2, kFloat32, 2);
  EXPECT_EQ(values, (std::vector<float>{2, 3.5f}));
}

TEST(Element, half_and_brain_floats_add_in_single_precision) {
  const uint16_t one_half = 0x3c00, two_half = 0x4000, one_brain = 0x3f80, two_brain = 0x4000;
  uint16_t value = one_half;
  combine(&value, &one_half, 1, kFloat16, kSum);
  EXPECT_EQ(value, two_half);
  value = one_brain;
  combine(&value, &one_brain, 1, kBrain16, kSum);
  EXPECT_EQ(value, two_brain);
}

TEST(Element, an_unknown_type_has_no_size_and_is_left_alone) {
  EXPECT_EQ(bytes_of(-1), 0);
  EXPECT_EQ(bytes_of(12), 0);
  int value = 3;
  combine(&value, &value, 1, 99, kSum);
  EXPECT_EQ(value, 3);
}

}  // namespace
}  // namespace vramfit::nccl
