#include "plan/hardware.h"

#include <gtest/gtest.h>

#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

model::Card card(std::string key, std::int64_t memory_mib, double price, double tflops, int major = 8) {
  model::Card made = example_target().card;
  made.key = made.name = std::move(key);
  made.memory = Bytes::mib(memory_mib);
  made.price_factor = price;
  made.rates.fp32 = tflops;
  made.bandwidth_gbps = 40 * tflops;
  made.capability = {major, 0};
  return made;
}

std::vector<std::string> keys_of(const std::vector<model::HardwareRow>& rows) {
  std::vector<std::string> keys;
  for (const auto& row : rows) keys.push_back(std::to_string(row.count) + "x" + row.key);
  return keys;
}

TEST(Hardware, the_cheapest_that_holds_the_job_comes_first_and_dearer_ones_are_faster) {
  const model::Job job = example_job();  // 2920 MiB of tensors
  const Forecast forecast = start_forecast(job);
  const Demand demand = demand_of(job, forecast);
  const std::vector<model::Card> catalogue = {card("tiny", 900, 0.05, 5),   card("small", 2048, 0.1, 10),
                                              card("right", 8192, 0.3, 10), card("dearer", 8192, 0.4, 10),
                                              card("faster", 16384, 1, 40), card("fastest", 80000, 4, 90)};
  const auto rows = find_hardware(job, example_target(), demand, catalogue, 12);
  // Four small ones are as fast as the faster one, and cheaper; the dearer one is no faster than the right one.
  EXPECT_EQ(keys_of(rows), (std::vector<std::string>{"1xright", "4xsmall", "1xfastest"}));
  for (const auto& row : rows) EXPECT_LE(row.needs, row.memory);
}

TEST(Hardware, a_plan_in_bf16_is_not_offered_on_cards_that_lack_it) {
  const model::Job job = example_job();
  model::PlanRow row;
  row.plan.changes = {{"autocast", {{"dtype", std::string("bfloat16")}}}};
  row.proven = model::Peaks{Bytes::mib(1000), Bytes::mib(1200), Bytes::mib(1500)};
  row.time_factor = 0.5;
  const Demand demand = demand_of(job, row);
  EXPECT_EQ(demand.single, Bytes::mib(1040));
  const std::vector<model::Card> catalogue = {card("turing", 8192, 0.1, 10, 7), card("ampere", 8192, 0.2, 10, 8)};
  const auto rows = find_hardware(job, example_target(), demand, catalogue, 12);
  ASSERT_EQ(keys_of(rows), std::vector<std::string>{"1xampere"});
  EXPECT_TRUE(rows[0].with_plan);
}

TEST(Hardware, the_floor_is_what_no_batch_makes_smaller) {
  const model::Floor floor = find_floor(example_job());
  EXPECT_EQ(floor.context, Bytes::mib(300));
  EXPECT_EQ(floor.weights, Bytes::mib(100));
  EXPECT_EQ(floor.gradients, Bytes::mib(100));
  EXPECT_EQ(floor.optimizer, Bytes::mib(200));
  EXPECT_EQ(floor.sum(), Bytes::mib(700));
  model::Job evaluates = example_job();
  evaluates.optimizer.reset();
  evaluates.stage_peaks = {example_peak("test", "forward", 300, 0, 0)};
  EXPECT_EQ(find_floor(evaluates).sum(), Bytes::mib(400));
}

TEST(Hardware, what_an_optimizer_moves_beside_a_model_is_none_of_its_weights) {
  model::Job job = example_job();
  job.stage_peaks = {example_peak("train", "backward", 0, 0, 0)};
  job.stage_peaks[0].holdings.weights = Bytes::mib(300);
  const Bytes without = find_floor(job).sum();
  job.moved = Bytes::mib(120);
  const model::Floor floor = find_floor(job);
  EXPECT_EQ(floor.weights, Bytes::mib(180) + job.stage_peaks[0].holdings.buffers);
  EXPECT_EQ(floor.moved, Bytes::mib(120));
  EXPECT_EQ(floor.sum(), without);
}

TEST(Hardware, what_nobody_sells_is_not_offered) {
  const model::Job job = example_job();
  const Forecast forecast = start_forecast(job);
  model::Card laptop = card("laptop", 16384, 0.1, 10), unpriced = card("unpriced", 16384, 0, 10);
  laptop.category = "laptop";
  const std::vector<model::Card> catalogue = {laptop, unpriced};
  EXPECT_TRUE(find_hardware(job, example_target(), demand_of(job, forecast), catalogue, 12).empty());
}

}  // namespace
}  // namespace vramfit::plan
