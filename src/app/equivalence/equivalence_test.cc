#include "app/equivalence/equivalence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "app/equivalence/compare_training.h"
#include "app/equivalence/schedule.h"

namespace vramfit::app {

using facts::EffectKind;
using facts::Tensors;
using facts::TrainingRecord;
using facts::TrainingStep;
namespace {

using model::Equivalence;
using model::Sameness;
using plan::Promise;

const Promise kMicroBatch{Sameness::kRounding, plan::kRoundingShare, false, "", true, false};
const Promise kBf16{Sameness::kPrecision, plan::kBf16Share, false, "", false, false};

// A run of four steps of one optimizer over 8 samples each: gradients of every size, updates that follow them.
TrainingRecord example(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  TrainingRecord record;
  record.has_ended = true;
  record.optimizers = {"SGD"};
  record.weights[0] = normal(random);
  for (int step = 1; step <= 4; ++step) {
    record.steps.push_back({0, step, 8 * step, normal(random), {{{"lr", 0.1 / step}, {"weight_decay", 0.01}}}});
  }
  for (int tensor = 0; tensor < 6; ++tensor) {
    const std::string name = "0." + std::to_string(tensor);
    for (int i = 0; i < 40; ++i) {
      record.gradients[name].push_back(std::pow(10, -tensor / 2) * normal(random));
      record.updates[name].push_back(-0.1 * record.gradients[name].back());
      record.states[name + ".exp_avg"].push_back(0.3 * record.gradients[name].back());
      record.states[name + ".exp_avg_sq"].push_back(1e-3 * std::pow(record.gradients[name].back(), 2));
    }
  }
  for (int i = 0; i < 10; ++i) {
    record.buffers["0.mean"].push_back(normal(random));
    record.averages["0.weight"].push_back(0.01 * normal(random));
  }
  record.buffers["0.num_batches_tracked"] = {4};
  return record;
}

// Each number off by about `share` of itself.
void shake(Tensors& tensors, double share, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (auto& [name, values] : tensors) {
    for (double& value : values) value *= 1 + share * normal(random);
  }
}

TrainingRecord shaken(const TrainingRecord& record, double share, unsigned seed) {
  TrainingRecord other = record;
  for (Tensors* tensors : {&other.gradients, &other.updates, &other.states, &other.buffers, &other.averages})
    shake(*tensors, share, seed);
  return other;
}

void scale(Tensors& tensors, double factor) {
  for (auto& [name, values] : tensors) {
    for (double& value : values) value *= factor;
  }
}

class EquivalenceOf : public ::testing::TestWithParam<unsigned> {
 protected:
  const TrainingRecord plain = example(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Seeds, EquivalenceOf, ::testing::Range(0U, 20U));

// A job that only evaluates: two forwards of 100 numbers.
TrainingRecord example_evaluation() {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  TrainingRecord record;
  for (const char* forward : {"0", "1"}) {
    record.inputs[forward] = {normal(random)};
    for (int i = 0; i < 100; ++i) record.outputs[std::string(forward) + ".out"].push_back(normal(random));
  }
  return record;
}

Promise promise_of_outputs(double share) {
  Promise promise;
  promise.outputs = share;
  return promise;
}

TEST(EquivalenceOfEvaluations, outputs_are_compared_where_nothing_is_trained) {
  const TrainingRecord plain = example_evaluation();
  EXPECT_EQ(compare_runs(plain, plain, kMicroBatch).text, "evaluates the same: 2 forwards compared, outputs equal");
  TrainingRecord rounded = plain;
  shake(rounded.outputs, 0.004, 1);
  const Equivalence found = compare_runs(plain, rounded, promise_of_outputs(0.05));
  EXPECT_EQ(found.sameness, Sameness::kPrecision) << found.text;
  EXPECT_NE(found.text.find("outputs within 0.38 %"), std::string::npos) << found.text;
  EXPECT_EQ(compare_runs(plain, rounded, promise_of_outputs(1e-3)).sameness, Sameness::kOther);
}

TEST(EquivalenceOfEvaluations, what_can_not_be_compared_is_said) {
  const TrainingRecord plain = example_evaluation();
  TrainingRecord other = plain;
  other.inputs["1"] = {99};
  EXPECT_EQ(compare_runs(plain, other, promise_of_outputs(0.05)).text,
            "not compared: the two evaluations were not given the same numbers");
  EXPECT_EQ(compare_runs({}, {}, kBf16).text, "not compared: neither an optimizer step nor an evaluation was seen");
  EXPECT_FALSE(compare_runs(plain, {}, promise_of_outputs(0.05)).checked);
  other = plain;
  other.outputs["0.out"][3] = NAN;
  EXPECT_EQ(compare_runs(plain, other, promise_of_outputs(0.05)).sameness, Sameness::kNotANumber);
  other = plain;
  other.outputs["0.out"].pop_back();
  EXPECT_EQ(compare_runs(plain, other, promise_of_outputs(0.05)).sameness, Sameness::kOther);
}

TEST(EquivalenceOfEvaluations, a_job_that_trains_too_has_both_compared) {
  TrainingRecord plain = example(3);
  plain.outputs = example_evaluation().outputs;
  plain.inputs = example_evaluation().inputs;
  TrainingRecord rounded = plain;
  shake(rounded.outputs, 0.004, 1);
  const Equivalence found = compare_runs(plain, rounded, promise_of_outputs(0.05));
  EXPECT_EQ(found.sameness, Sameness::kPrecision);
  EXPECT_NE(found.text.find("weights equal; evaluates the same"), std::string::npos) << found.text;
  TrainingRecord without_outputs = rounded;
  without_outputs.outputs.clear();
  EXPECT_FALSE(compare_runs(plain, without_outputs, promise_of_outputs(0.05)).checked);
}

TEST_P(EquivalenceOf, a_run_with_itself_is_equal) {
  const Equivalence found = compare_training(plain, plain, kMicroBatch);
  EXPECT_EQ(found.sameness, Sameness::kEqual) << found.text;
  EXPECT_EQ(found.text, "trains the same: 4 steps compared, weights equal");
  EXPECT_TRUE(found.checked);
  EXPECT_EQ(found.steps, 4);
}

TEST_P(EquivalenceOf, numbers_that_are_a_little_off_have_the_class_that_allows_for_it) {
  const TrainingRecord rounded = shaken(plain, 1e-6, GetParam());
  EXPECT_EQ(compare_training(plain, rounded, kMicroBatch).sameness, Sameness::kRounding);
  EXPECT_EQ(compare_training(plain, rounded, kBf16).sameness, Sameness::kRounding);
  const TrainingRecord halved = shaken(plain, 0.02, GetParam());
  EXPECT_EQ(compare_training(plain, halved, kBf16).sameness, Sameness::kPrecision);
  EXPECT_EQ(compare_training(plain, halved, kMicroBatch).sameness, Sameness::kOther);
  EXPECT_EQ(compare_training(plain, shaken(plain, 0.6, GetParam()), kBf16).sameness, Sameness::kOther);
}

TEST_P(EquivalenceOf, what_fails_one_way_fails_the_other_way) {
  for (const double share : {1e-6, 0.02, 0.6}) {
    const TrainingRecord other = shaken(plain, share, GetParam());
    EXPECT_EQ(is_failed(compare_training(plain, other, kMicroBatch)),
              is_failed(compare_training(other, plain, kMicroBatch)));
  }
}

TEST_P(EquivalenceOf, the_scripts_own_autocast_rounds_as_much) {
  TrainingRecord without = plain;
  without.autocast = "bfloat16";
  EXPECT_EQ(compare_training(without, shaken(without, 0.02, GetParam()), kMicroBatch).sameness, Sameness::kPrecision);
}

TEST_P(EquivalenceOf, gradients_of_a_sum_are_told_by_their_factor) {
  TrainingRecord sum = plain;
  scale(sum.gradients, 0.25);
  scale(sum.updates, 0.25);
  const Equivalence found = compare_training(plain, sum, kMicroBatch);
  EXPECT_EQ(found.sameness, Sameness::kOther);
  EXPECT_EQ(found.text,
            "trains something else: gradients are 0.25 times those without the plan; the update of the weights differs "
            "by 75 %");
}

TEST_P(EquivalenceOf, any_value_that_is_no_number_fails_the_plan) {
  for (Tensors TrainingRecord::*tensors :
       {&TrainingRecord::gradients, &TrainingRecord::updates, &TrainingRecord::buffers, &TrainingRecord::averages}) {
    TrainingRecord broken = plain;
    (broken.*tensors).begin()->second.back() = NAN;
    EXPECT_EQ(compare_training(plain, broken, kBf16).sameness, Sameness::kNotANumber);
    EXPECT_EQ(compare_training(broken, broken, kBf16).sameness, Sameness::kNotChecked) << "not the plan's doing";
  }
}

TEST_P(EquivalenceOf, moments_that_differ_where_updates_do_not_are_found) {
  TrainingRecord other = plain;
  for (auto& [name, values] : other.states) {
    if (!name.ends_with("_sq")) continue;
    for (double& value : values) value *= 16;
  }
  for (const Promise& promise : {kMicroBatch, kBf16}) {
    const Equivalence found = compare_runs(plain, other, promise);
    EXPECT_EQ(found.sameness, Sameness::kOther);
    EXPECT_EQ(found.text, "trains something else: the optimizer's state `exp_avg_sq` differs by 1500 %");
  }
  other = plain;
  for (double& value : other.states.at("0.1.exp_avg")) value *= 1.1;
  EXPECT_FALSE(compare_runs(plain, other, kMicroBatch).differences.empty());
  std::erase_if(other.states, [](const auto& state) { return state.first.ends_with("exp_avg"); });
  EXPECT_EQ(compare_runs(plain, other, kMicroBatch).sameness, Sameness::kEqual);  // one that keeps it in another way
}

TEST_P(EquivalenceOf, one_tensor_that_is_trained_otherwise_is_found_among_many) {
  TrainingRecord other = plain;
  for (double& value : other.updates["0.1"]) value *= 1.2;
  const Equivalence found = compare_training(plain, other, kMicroBatch);
  EXPECT_EQ(found.sameness, Sameness::kOther) << found.text;
}

TEST_P(EquivalenceOf, an_option_of_any_step_is_found) {
  for (std::size_t step = 0; step < plain.steps.size(); ++step) {
    TrainingRecord other = plain;
    other.steps[step].groups[0]["lr"] *= 1.01;
    const Equivalence found = compare_training(plain, other, kBf16);
    EXPECT_EQ(found.sameness, Sameness::kOther);
    EXPECT_TRUE(found.text.starts_with("trains something else: the learning rate in step " + std::to_string(step + 1)))
        << found.text;
  }
}

// Adam makes an update of any gradient as large as of any other: of those that only rounding made nothing is said.
TEST_P(EquivalenceOf, updates_of_gradients_that_are_only_rounding_count_for_nothing) {
  TrainingRecord without = plain, with = plain;
  for (int i = 0; i < 40; ++i) {
    without.gradients["0.key_bias"].push_back(1e-9);
    with.gradients["0.key_bias"].push_back(-1e-9);
    without.updates["0.key_bias"].push_back(0.1);
    with.updates["0.key_bias"].push_back(-0.1);
  }
  EXPECT_FALSE(is_failed(compare_training(without, with, kMicroBatch)));
}

// And of those that fewer bits have moved a little, much: the gradients decide.
TEST_P(EquivalenceOf, optimizers_that_take_steps_of_one_size_may_differ_by_more_after_fewer_bits) {
  TrainingRecord without = plain, with = shaken(plain, 0.02, GetParam());
  shake(with.updates, 0.35, GetParam());
  EXPECT_EQ(compare_training(without, with, kBf16).sameness, Sameness::kOther);
  without.optimizers = with.optimizers = {"AdamW"};
  EXPECT_EQ(compare_training(without, with, kBf16).sameness, Sameness::kPrecision);
  EXPECT_EQ(compare_training(without, with, kMicroBatch).sameness, Sameness::kOther);
  shake(with.gradients, 0.6, GetParam());
  EXPECT_EQ(compare_training(without, with, kBf16).sameness, Sameness::kOther);
}

TEST(Equivalence, an_average_that_is_made_more_often_is_found) {
  const TrainingRecord plain = example(1);
  TrainingRecord other = plain;
  scale(other.averages, 2.5);
  const Equivalence found = compare_training(plain, other, kMicroBatch);
  EXPECT_EQ(found.text, "trains something else: an average of the weights differs by 150 %");
}

TEST(Equivalence, averages_are_known_whatever_order_they_are_found_in) {
  TrainingRecord plain = example(1), other = plain;
  plain.averages = {{"0.weight", {1, 2}}, {"1.weight", {10, 20}}};
  other.averages = {{"0.weight", {10, 20}}, {"1.weight", {1, 2}}};
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).sameness, Sameness::kEqual);
}

TEST(Equivalence, an_average_in_a_list_is_judged_by_itself_and_tensors_of_the_plans_own_are_none) {
  TrainingRecord plain = example(1);
  plain.averages = {{"0.weight", {1, 2}}};
  plain.averages_in_order = {{"0.weight", {3, 4}}};
  TrainingRecord other = plain;
  other.averages_in_order["1.weight"] = {-50, 0};
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).sameness, Sameness::kEqual);
  other.averages_in_order["0.weight"] = {6, 8};
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).text,
            "trains something else: an average of the weights differs by 100 %");
}

TEST(Equivalence, a_buffer_is_called_by_its_name_and_a_count_of_batches_is_none) {
  const TrainingRecord plain = example(1);
  TrainingRecord other = plain;
  other.buffers["0.num_batches_tracked"] = {16};
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).sameness, Sameness::kEqual);
  for (double& value : other.buffers["0.mean"]) value *= 2;
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).text,
            "trains something else: the buffer 0.mean differs by 100 %");
}

TEST(Equivalence, steps_that_are_missing_or_come_at_other_times_are_found) {
  const TrainingRecord plain = example(1);
  TrainingRecord fewer = plain;
  fewer.steps.resize(2);
  EXPECT_TRUE(compare_training(plain, fewer, kMicroBatch)
                  .text.starts_with("trains something else: 2 optimizer steps instead of 4"));
  TrainingRecord sooner = plain;
  for (TrainingStep& step : sooner.steps) step.samples /= 4;
  EXPECT_EQ(compare_training(plain, sooner, kMicroBatch).sameness, Sameness::kEqual) << "drawn ahead";
  scale(sooner.updates, 4);
  EXPECT_TRUE(compare_training(plain, sooner, kMicroBatch)
                  .text.starts_with("trains something else: optimizer step 1 comes after 2 samples instead of 8"));
}

TEST(Equivalence, a_stop_by_a_number_of_the_scripts_is_no_other_training) {
  const TrainingRecord plain = example(1);
  TrainingRecord fewer = plain;
  fewer.steps.resize(3);
  const Equivalence found = compare_training(plain, fewer, kBf16);
  EXPECT_FALSE(found.checked);
  EXPECT_TRUE(found.text.contains("stopped after another number of steps, 3 optimizer steps instead of 4"))
      << found.text;
  fewer.steps[1].samples *= 2;  // as a plan would that gives the loop other batches
  EXPECT_EQ(compare_training(plain, fewer, kBf16).sameness, Sameness::kOther);
}

TEST(Equivalence, batch_norms_are_named_and_the_rest_is_compared) {
  TrainingRecord plain = example(1);
  plain.has_batch_norm = true;
  const Equivalence found = compare_training(plain, plain, kMicroBatch);
  EXPECT_EQ(found.sameness, Sameness::kStatistics);
  EXPECT_FALSE(is_failed(found));
  EXPECT_EQ(compare_training(plain, plain, kBf16).sameness, Sameness::kEqual) << "each sees the samples it saw";
  TrainingRecord other = plain;
  scale(other.gradients, 0.25);
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).sameness, Sameness::kOther);
}

TEST(Equivalence, what_the_technique_says_that_it_changes_is_said_too) {
  const TrainingRecord plain = example(1);
  TrainingRecord other = plain;
  other.effects = {{"micro_batch", "dropout draws its masks for each micro-batch"}};
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).text,
            "trains the same: 4 steps compared, weights equal; dropout draws its masks for each micro-batch");
  scale(other.gradients, 1.1);
  other.effects = {{"micro_batch", "in whatever words", EffectKind::kLabelWeights}};
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).sameness, Sameness::kStatistics) << "it is named";
  other.effects = {{"micro_batch", "labels that are left out are spread unevenly"}};
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).sameness, Sameness::kOther) << "words decide nothing";
}

TEST(Equivalence, statistics_of_the_short_runs_are_not_told_as_the_plans) {
  const TrainingRecord plain = example(1);
  TrainingRecord other = plain;
  other.effects = {{"micro_batch", "in whatever words", EffectKind::kBatchStatistics}};
  EXPECT_TRUE(compare_training(plain, other, kMicroBatch).effects.empty());
  other.effects = {{"micro_batch", "batch normalisation, to say it so"}};
  EXPECT_EQ(compare_training(plain, other, kMicroBatch).effects.size(), 1U);
}

TEST(Equivalence, runs_over_other_numbers_are_not_compared_by_numbers) {
  const TrainingRecord plain = example(1);
  TrainingRecord augmented = shaken(plain, 0.3, 7);
  augmented.steps[2].data += 1;
  EXPECT_FALSE(saw_the_same(plain, augmented, kMicroBatch));
  EXPECT_EQ(compare_training(plain, augmented, kMicroBatch).sameness, Sameness::kNotChecked);
  TrainingRecord reseeded = shaken(plain, 0.3, 7);
  reseeded.weights[0] += 1;
  EXPECT_EQ(compare_training(plain, reseeded, kMicroBatch).sameness, Sameness::kNotChecked);
  Promise rounding = kBf16;
  rounding.rounds_weights = true;
  EXPECT_TRUE(saw_the_same(plain, reseeded, rounding)) << "the plan rounds them before the first step";
  augmented.steps[1].groups[0]["lr"] = 7;
  EXPECT_EQ(compare_training(plain, augmented, kMicroBatch).sameness, Sameness::kOther) << "no data decides that";
}

TEST(Equivalence, what_can_not_be_compared_says_why) {
  const TrainingRecord plain = example(1);
  const auto why = [&](const TrainingRecord& without, const TrainingRecord& with) {
    const Equivalence found = compare_training(without, with, kMicroBatch);
    EXPECT_EQ(found.sameness, Sameness::kNotChecked);
    EXPECT_FALSE(found.checked);
    return found.text;
  };
  EXPECT_EQ(why({}, plain), "not compared: no optimizer step was seen in the job as it is");
  EXPECT_EQ(why(plain, {}), "not compared: no optimizer step was seen with the plan");
  TrainingRecord still = plain;
  scale(still.gradients, 0);
  scale(still.updates, 0);
  EXPECT_TRUE(why(still, still).starts_with("not compared: the weights do not move"));
  TrainingRecord swapped = plain;
  swapped.optimizers = {"Adafactor"};
  EXPECT_EQ(why(plain, swapped), "not compared: it is meant to train otherwise: Adafactor instead of SGD");
  TrainingRecord skipping = plain;
  skipping.effects = {{"autocast", "1 optimizer steps were left out, of 4"}};
  EXPECT_EQ(why(plain, skipping), "not compared: 1 optimizer steps were left out, of 4");
}

}  // namespace
}  // namespace vramfit::app
