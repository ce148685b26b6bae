#include "devices/operator_time.h"

#include <gtest/gtest.h>

#include "devices/time_model.h"

namespace vramfit::devices {
namespace {

using model::Number;
using model::OperatorWork;
using model::StepWork;

model::Card card_of_64_processors() {
  model::Card card;
  card.capability = {8, 6};
  card.sm_count = 64;
  card.bandwidth_gbps = 1000;
  card.rates.fp32 = 20;
  card.rates.fp16_tensor = 80;
  return card;
}

constexpr TimeFigures kPlain = {.vector_tile = 10, .tensor_tile = 10};

OperatorWork product(double rows, double columns, double inner, Number number = Number::kF32) {
  OperatorWork work;
  work.kind = OperatorWork::Kind::kProduct;
  work.number = number;
  work.rows = rows, work.columns = columns, work.inner = inner;
  return work;
}

double seconds(const OperatorWork& work) { return estimate_kernel_seconds(card_of_64_processors(), work, kPlain); }

TEST(OperatorTime, a_large_product_runs_near_the_peak) {
  const double macs = 8192.0 * 8192 * 1024;
  const double at_peak = macs / 10e12;
  EXPECT_GT(seconds(product(8192, 8192, 1024)), at_peak);
  EXPECT_LT(seconds(product(8192, 8192, 1024)), 1.3 * at_peak);
}

TEST(OperatorTime, a_last_wave_of_one_tile_takes_as_long_as_a_full_one) {
  // Tiles of any size: 8192 rows fill whole waves, one more row begins another.
  EXPECT_GT(seconds(product(8193, 8192, 1024)), seconds(product(8192, 8192, 1024)));
  EXPECT_DOUBLE_EQ(seconds(product(8193, 8192, 1024)), seconds(product(8200, 8192, 1024)));
}

TEST(OperatorTime, a_product_of_few_rows_is_bound_by_memory) {
  OperatorWork thin = product(1, 8192, 8192);
  thin.bytes = 4.0 * 8192 * 8192;
  EXPECT_NEAR(seconds(thin), thin.bytes / 1e12, 0.1 * thin.bytes / 1e12);
}

TEST(OperatorTime, tensor_cores_are_for_half_precision_and_aligned_dimensions) {
  TimeFigures figures = kPlain;
  figures.unaligned = 0.5;
  const auto of = [&](const OperatorWork& work) {
    return estimate_kernel_seconds(card_of_64_processors(), work, figures);
  };
  const double aligned = of(product(4096, 4096, 4096, Number::kF16));
  EXPECT_LT(aligned, 0.3 * of(product(4096, 4096, 4096)));
  EXPECT_NEAR(of(product(4096, 4096, 4095, Number::kF16)) / aligned, 2, 0.05);
  figures.halved = 0.5;
  EXPECT_NEAR(of(product(4096, 4096, 4092, Number::kF16)) / aligned, 4, 0.1) << "four at once";
  EXPECT_NEAR(of(product(4096, 4096, 4095, Number::kF16)) / aligned, 16, 0.2) << "one by one";
}

TEST(OperatorTime, a_pass_that_goes_one_by_one_is_no_faster_for_narrow_types) {
  model::Card card = card_of_64_processors();
  card.sm_clock_khz = 1'000'000;
  TimeFigures figures = kPlain;
  figures.instructions = 128;  // 64 elements in a nanosecond
  OperatorWork wide, narrow;
  wide.bytes = 8e6, narrow.bytes = 4e6;
  wide.elements = narrow.elements = 1e6;
  EXPECT_DOUBLE_EQ(estimate_kernel_seconds(card, narrow, figures), 1e6 / 64e9);
  EXPECT_DOUBLE_EQ(estimate_kernel_seconds(card, wide, figures), estimate_kernel_seconds(card, narrow, figures));
  narrow.elements = 0;
  EXPECT_DOUBLE_EQ(estimate_kernel_seconds(card, narrow, figures), 4e6 / 1e12) << "vectors are bound by memory";
}

TEST(OperatorTime, a_depthwise_convolution_is_a_pass_over_memory) {
  OperatorWork depthwise = product(1e6, 1, 9);
  depthwise.kind = OperatorWork::Kind::kConvolution;
  depthwise.batch = 64;
  depthwise.bytes = 512e6;
  EXPECT_DOUBLE_EQ(seconds(depthwise), depthwise.bytes / 1e12);
}

TEST(OperatorTime, what_lies_in_the_cache_is_read_faster) {
  model::Card card = card_of_64_processors();
  card.l2 = base::Bytes(64'000'000);
  TimeFigures figures = kPlain;
  figures.cache = 4;
  OperatorWork pass;
  pass.bytes = 32e6;
  EXPECT_DOUBLE_EQ(estimate_kernel_seconds(card, pass, figures), 8e6 / 1e12);
  pass.bytes = 32e9;
  EXPECT_NEAR(estimate_kernel_seconds(card, pass, figures), 32e9 / 1e12, 1e-4);
}

StepWork step_of(std::vector<OperatorWork> operators) {
  StepWork work;
  for (const OperatorWork& one : operators) {
    if (one.kind == OperatorWork::Kind::kMemory) {
      work.other_bytes += one.bytes * one.count;
    } else {
      work.macs[static_cast<std::size_t>(one.number)] += one.rows * one.columns * one.inner * one.count;
    }
  }
  work.operators = std::make_shared<std::vector<OperatorWork>>(std::move(operators));
  return work;
}

TEST(StepTime, is_the_sum_of_its_kernels) {
  OperatorWork pass;
  pass.bytes = 1e9;
  pass.count = 3;
  const OperatorWork one = product(8192, 8192, 1024);
  const model::Card card = card_of_64_processors();
  EXPECT_DOUBLE_EQ(estimate_step_seconds(card, step_of({one, pass}), kPlain),
                   seconds(one) + 3 * estimate_kernel_seconds(card, pass, kPlain));
}

TEST(StepTime, in_half_precision_the_same_products_are_faster) {
  StepWork work = step_of({product(4096, 4096, 4096)});
  const double before = estimate_step_seconds(card_of_64_processors(), work, kPlain);
  std::swap(work.macs[static_cast<std::size_t>(Number::kF32)], work.macs[static_cast<std::size_t>(Number::kF16)]);
  EXPECT_LT(estimate_step_seconds(card_of_64_processors(), work, kPlain), 0.3 * before);
}

TEST(StepTime, in_pieces_each_piece_wastes_its_own_last_wave) {
  StepWork work = step_of({product(1000, 1000, 1000)});
  const double whole = estimate_step_seconds(card_of_64_processors(), work, kPlain);
  work.pieces = 8;
  EXPECT_GT(estimate_step_seconds(card_of_64_processors(), work, kPlain), 1.05 * whole);
}

TEST(StepTime, many_small_kernels_wait_for_the_host) {
  OperatorWork pass;
  pass.bytes = 100;
  pass.count = 2000;
  StepWork work = step_of({pass});
  work.launches = 2000;
  TimeFigures figures = kPlain;
  figures.launch_seconds = 2e-5;
  EXPECT_DOUBLE_EQ(estimate_step_seconds(card_of_64_processors(), work, figures), 2000 * 2e-5);
}

TEST(StepTime, narrower_elements_are_no_fewer) {
  model::Card card = card_of_64_processors();
  card.sm_clock_khz = 1'000'000;
  TimeFigures figures = kPlain;
  figures.instructions = 1000;
  OperatorWork pass;
  pass.bytes = 1e9, pass.elements = 1e9;
  StepWork work = step_of({pass});
  const double before = estimate_step_seconds(card, work, figures);
  work.other_bytes /= 2;
  EXPECT_DOUBLE_EQ(estimate_step_seconds(card, work, figures), before / 2) << "half of the work";
  work.narrower = 0.5;
  EXPECT_DOUBLE_EQ(estimate_step_seconds(card, work, figures), before) << "elements of half the bytes";
}

TEST(StepTime, an_interval_holds_its_value) {
  for (const Interval& interval : {interval_of_seconds(2), interval_between_cards(0.4), interval_of_change(1.3)}) {
    EXPECT_LT(interval.low, interval.value);
    EXPECT_GT(interval.high, interval.value);
  }
  EXPECT_EQ(interval_of_change(1), (Interval{1, 1, 1}));
}

TEST(TimeFigures, are_those_of_the_card_where_it_was_measured) {
  model::Card t4, unknown;
  t4.key = "t4";
  EXPECT_LT(find_time_figures(t4).vector, find_time_figures(unknown).vector);
  TimeFigures figures;
  EXPECT_EQ(find_figure(figures, "tensor"), &figures.tensor);
  EXPECT_EQ(find_figure(figures, "colour"), nullptr);
}

}  // namespace
}  // namespace vramfit::devices
