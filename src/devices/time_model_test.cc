#include "devices/time_model.h"

#include <gtest/gtest.h>

namespace vramfit::devices {
namespace {

using model::Number;
using model::StepWork;

model::Card pascal() {
  model::Card card;
  card.capability = {6, 1};
  card.bandwidth_gbps = 256;
  card.rates.fp32 = 6.5;
  card.rates.fp16 = 0.1;
  return card;
}

model::Card ampere() {
  model::Card card;
  card.capability = {8, 6};
  card.bandwidth_gbps = 936;
  card.rates.fp32 = 35.6;
  card.rates.tf32 = 35.6;
  card.rates.fp16_tensor = 142;
  card.rates.bf16 = 71;
  return card;
}

StepWork matmuls(Number number, double macs) {
  StepWork work;
  work.macs[static_cast<std::size_t>(number)] = macs;
  return work;
}

TEST(TimeModel, twice_the_multiply_adds_take_twice_as_long) {
  EXPECT_DOUBLE_EQ(estimate_step_seconds(pascal(), matmuls(Number::kF32, 2e12)),
                   2 * estimate_step_seconds(pascal(), matmuls(Number::kF32, 1e12)));
}

TEST(TimeModel, half_precision_gains_nothing_without_tensor_cores) {
  model::Card turing = pascal();
  turing.rates.fp16 = 2 * *turing.rates.fp32;
  EXPECT_FALSE(speeds_up_half_precision(turing, Number::kF16));
  EXPECT_DOUBLE_EQ(multiply_adds_per_second(pascal(), Number::kF16), multiply_adds_per_second(pascal(), Number::kF32));
  EXPECT_FALSE(speeds_up_half_precision(pascal(), Number::kF16));
}

TEST(TimeModel, tensor_cores_speed_half_precision_up) {
  EXPECT_TRUE(speeds_up_half_precision(ampere(), Number::kF16));
  EXPECT_LT(estimate_step_seconds(ampere(), matmuls(Number::kBf16, 1e12)),
            estimate_step_seconds(ampere(), matmuls(Number::kF32, 1e12)));
}

TEST(TimeModel, a_small_step_is_bound_by_its_launches) {
  StepWork work = matmuls(Number::kF32, 1e6);
  work.launches = 2000;
  EXPECT_DOUBLE_EQ(estimate_step_seconds(ampere(), work), 2000 * kSecondsPerLaunch);
}

TEST(TimeModel, a_matmul_is_bound_by_bandwidth_when_it_touches_much) {
  StepWork work = matmuls(Number::kF32, 1e6);
  work.matmul_bytes = 1e12;
  EXPECT_NEAR(estimate_step_seconds(ampere(), work), 1e12 / (936e9 * kBandwidthEfficiency), 1e-9);
}

TEST(TimeModel, copies_to_the_host_go_through_the_slot_and_beside_nothing_else) {
  StepWork work = matmuls(Number::kF32, 1e12);
  const double before = estimate_step_seconds(ampere(), work);
  work.host_bytes = 31.5e9;  // a second of PCI Express 4.0
  EXPECT_NEAR(estimate_step_seconds(ampere(), work) - before, 1 / kSlotEfficiency, 0.01);
  EXPECT_NEAR(host_bytes_per_second(ampere()) / host_bytes_per_second(pascal()), 2, 1e-9);
}

TEST(TimeModel, a_card_without_rates_still_gives_ratios) {
  const model::Card unknown;
  const double once = estimate_step_seconds(unknown, matmuls(Number::kF32, 1e12));
  EXPECT_GT(once, 0);
  EXPECT_DOUBLE_EQ(estimate_step_seconds(unknown, matmuls(Number::kF16, 1e12)), once);
}

}  // namespace
}  // namespace vramfit::devices
