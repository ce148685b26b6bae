#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "devices/time_model.h"
#include "plan/evaluation.h"
#include "plan/measured_shares.h"
#include "plan/plan_check.h"
#include "plan/promise.h"
#include "plan/search/candidate.h"
#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

Forecast predict(const Technique& technique, const model::Job& job, const Target& target, const model::Change& change) {
  Forecast forecast = start_forecast(job);
  technique.predict(job, target, change, forecast);
  return forecast;
}

Bytes needs_with(const Technique& technique, const model::Job& job, const Target& target, const model::Change& change) {
  return add_up(job, predict(technique, job, target, change)).needs;
}

double seconds_with(const Technique& technique, const model::Job& job, const Target& target,
                    const model::Change& change) {
  return devices::estimate_step_seconds(target.card, predict(technique, job, target, change).work);
}

// 100 MiB in float32: 20 million numbers of 26 million in 48 layers.
model::LinearLayers example_linear_layers() {
  return {26'000'000, 0, 20'000'000, 48, 100'000, 10'000, 24'000'000, true};
}

model::Job job_with_everything_applicable() {
  model::Job job = example_job();
  job.validates_with_gradients = true;
  job.gathered = model::GatheredFacts{"validate", "kept", "train.py:9 in test", Bytes::mib(20), 10, true};
  job.oom = model::OomFacts{"train", Bytes::mib(64), Bytes::mib(1200), Bytes::mib(1700)};
  job.phases[1].peak_reserved = Bytes::mib(3200);
  job.kept_gradients = model::KeptGradients{"train.py:31 in train", false};
  job.wide_loss = model::WideLoss{8192, 50304, Bytes::mib(200)};
  job.network = model::NetworkFacts{"timm", "resnet152", {"resnet101", "resnet50"}};
  job.teacher = model::TeacherFacts{"BigNet", Bytes::mib(60), true};
  job.linear_layers = example_linear_layers();
  job.card_transforms = {{"Compose", "train"}};
  job.convolution_layers = model::ConvolutionLayers{26'000'000, 53, {3, 512, 512}, true};
  job.sparse_embeddings = model::SparseEmbeddings{Bytes::mib(40), Bytes::mib(2), 1, "AdamW", false, ""};
  job.attention = model::AttentionFacts{Bytes::mib(300), 12, Bytes(0), Bytes::mib(300), Bytes(0)};
  return job;
}

// Only evaluates, and that is what runs out.
model::Job evaluating_job() {
  model::Job job = example_job();
  job.optimizer.reset();
  job.loaders = {{0, 4, 10, "test", {{4, 3, 512, 512}}}};
  job.stage_peaks = {example_peak("load", "other", 0, 0, 0), example_peak("test", "forward", 2600, 0, 40)};
  for (model::StagePeak& moment : job.stage_peaks) {
    moment.holdings.optimizer = {};
    moment.holdings.weights = job.parameter_bytes = Bytes::mib(400);
  }
  job.phases = {{"test", Bytes::mib(2760), Bytes::mib(3000), Bytes::mib(3300), 3}};
  return job;
}

// For the laws: a job that it applies to.
model::Job job_for(const Technique& technique, const Target& target) {
  const model::Job job = job_with_everything_applicable();
  return technique.applies_to(job, target).standing == Standing::kApplicable ? job : evaluating_job();
}

TEST(Techniques, have_distinct_ids_and_are_found_by_them) {
  std::set<std::string_view> ids;
  for (const Technique* technique : all_techniques()) {
    EXPECT_TRUE(ids.insert(technique->id()).second) << technique->id();
    EXPECT_EQ(find_technique(technique->id()), technique);
  }
  EXPECT_EQ(find_technique("wishful_thinking"), nullptr);
}

TEST(Techniques, whatever_they_offer_is_a_plan_by_the_schema) {
  Target target = example_target();
  target.keep_effective_batch = false;
  for (const Technique* technique : all_techniques()) {
    for (const model::Change& change : technique->options(job_for(*technique, target), target)) {
      const auto checked = check_plan({"", {change}}, "plan.json");
      EXPECT_TRUE(checked) << technique->id() << ": " << checked.error().what;
    }
  }
}

// The law the search rests on, for every technique.
TEST(Techniques, options_grow_in_strength) {
  Target target = example_target();
  target.keep_effective_batch = false;
  for (const Technique* technique : all_techniques()) {
    const model::Job job = job_for(*technique, target);
    ASSERT_EQ(technique->applies_to(job, target).standing, Standing::kApplicable)
        << technique->id() << ": " << technique->applies_to(job, target).reason;
    Bytes before = add_up(job, start_forecast(job)).needs;
    for (const model::Change& change : technique->options(job, target)) {
      const Bytes needs = needs_with(*technique, job, target, change);
      EXPECT_LE(needs, before) << technique->id() << ": " << technique->describe(change);
      EXPECT_FALSE(technique->describe(change).empty());
      before = needs;
    }
  }
}

TEST(Techniques, the_order_in_which_they_are_predicted_does_not_matter) {
  const Target target = example_target();
  for (const Technique* first : all_techniques()) {
    for (const Technique* second : all_techniques()) {
      const model::Job job = job_for(*first, target);
      if (job_for(*second, target) != job) continue;
      if (first->slot() == second->slot() || first->id() == "effective_batch" || second->id() == "effective_batch")
        continue;
      const auto one = first->options(job, target).back();
      const auto two = second->options(job, target).back();
      Forecast forth = predict(*first, job, target, one), back = predict(*second, job, target, two);
      second->predict(job, target, two, forth);
      first->predict(job, target, one, back);
      EXPECT_NEAR(add_up(job, forth).needs.as_mib(), add_up(job, back).needs.as_mib(), 0.01)
          << first->id() << " and " << second->id();
    }
  }
}

TEST(Techniques, what_the_script_was_seen_to_refuse_is_no_choice) {
  const Target target = example_target();
  model::Job job = job_with_everything_applicable();
  const int trained = model::find_loader(job, "train")->ordinal;
  job.obstacles = {{"release_gradients", "clipped", std::nullopt}, {"micro_batch", "counts", trained + 1}};
  EXPECT_EQ(find_applicability(release_gradients(), job, target), not_possible("clipped"));
  EXPECT_EQ(find_applicability(micro_batch(), job, target), applicable()) << "nothing is trained on that loader";
  for (const Axis& axis : build_axes(job, target, all_techniques())) EXPECT_NE(axis.technique, &release_gradients());
  job.obstacles.push_back({"micro_batch", "counts", trained});
  EXPECT_EQ(find_applicability(micro_batch(), job, target), not_possible("counts"));
}

TEST(MicroBatch, frees_activations_only_and_keeps_gradients_alive) {
  const model::Job job = example_job();
  const auto change = micro_batch().options(job, example_target())[0];
  EXPECT_EQ(micro_batch().describe(change), "micro-batch 4 x 2");
  const Forecast forecast = predict(micro_batch(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(1300));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.gradients, Bytes::mib(100));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.weights, Bytes::mib(100));
  EXPECT_EQ(forecast.stage_peaks[3], job.stage_peaks[3]) << "evaluation is not touched";
  EXPECT_EQ(forecast.effect, Effect::kSame);
}

TEST(MicroBatch, accumulates_to_the_same_batch_whatever_the_divisor) {
  model::Job job = example_job();
  job.loaders[0].batch_size = 12;
  for (const auto& change : micro_batch().options(job, example_target())) {
    EXPECT_EQ(*find_integer(change, "micro_batch") * *find_integer(change, "accumulate"), 12);
  }
  EXPECT_EQ(micro_batch().options(job, example_target()).size(), 5U);  // 6 4 3 2 1
}

TEST(MicroBatch, says_what_batch_normalisation_loses) {
  model::Job job = example_job();
  job.has_batch_norm = true;
  const auto change = micro_batch().options(job, example_target()).back();
  const Forecast forecast = predict(micro_batch(), job, example_target(), change);
  EXPECT_EQ(forecast.effect, Effect::kStatistics);
  EXPECT_EQ(forecast.consequences,
            (std::vector<std::string>{"batch normalisation sees 2 samples at once instead of 8",
                                      "in a loop of the script's own, what it prints or adds up (a running loss) has 4 "
                                      "terms for each batch"}));
}

TEST(MicroBatch, leaves_batch_normalisation_at_least_two_samples_where_it_can) {
  model::Job job = example_job();
  job.has_batch_norm = true;
  EXPECT_EQ(micro_batch().describe(micro_batch().options(job, example_target()).back()), "micro-batch 2 x 4");
  job.loaders[0].batch_size = 3;
  EXPECT_EQ(micro_batch().describe(micro_batch().options(job, example_target()).back()), "micro-batch 1 x 3");
}

TEST(MicroBatch, needs_a_loader_and_more_than_one_sample) {
  model::Job job = example_job();
  job.loaders[0].batch_size = 1;
  EXPECT_EQ(micro_batch().applies_to(job, example_target()).standing, Standing::kInForce);
  job.loaders.clear();
  EXPECT_EQ(micro_batch().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(EffectiveBatch, is_only_given_up_on_request) {
  const model::Job job = example_job();
  Target target = example_target();
  EXPECT_EQ(effective_batch().applies_to(job, target).standing, Standing::kNotPossible);
  target.keep_effective_batch = false;
  EXPECT_EQ(effective_batch().options(job, target).size(), 7U);
  EXPECT_EQ(predict(effective_batch(), job, target, effective_batch().options(job, target)[0]).effect,
            Effect::kOptimizer);
}

TEST(Autocast, takes_bf16_where_the_card_has_it_and_fp16_with_a_scaler_below) {
  Target target = example_target();
  EXPECT_EQ(autocast().describe(autocast().options(example_job(), target)[0]), "bf16 autocast");
  target.card.capability = {7, 5};
  const auto change = autocast().options(example_job(), target)[0];
  EXPECT_EQ(find_text(change, "dtype"), "float16");
  EXPECT_EQ(std::get<bool>(change.settings.at("scaler")), true);
}

TEST(Autocast, never_halves_everything) {
  const model::Job job = example_job();
  const Target target = example_target();
  const Forecast forecast = predict(autocast(), job, target, autocast().options(job, target)[0]);
  const model::Holdings& held = forecast.stage_peaks[0].holdings;
  EXPECT_EQ(held.weights, Bytes::mib(100 + 50)) << "half copies of the weights come on top";
  EXPECT_EQ(held.optimizer, Bytes::mib(200));
  EXPECT_EQ(held.activations, Bytes::mib(2600 * 65 / 100));
}

TEST(Autocast, tells_a_card_without_tensor_cores_that_only_memory_is_saved) {
  Target target = example_target();
  target.card.capability = {6, 1};
  target.card.rates = {
      .fp64 = {}, .fp32 = 6.5, .tf32 = {}, .fp16 = 0.1, .fp16_tensor = {}, .bf16 = {}, .int8 = {}, .fp8 = {}};
  const Forecast forecast = predict(autocast(), example_job(), target, autocast().options(example_job(), target)[0]);
  ASSERT_EQ(forecast.consequences.size(), 1U);
  EXPECT_NE(forecast.consequences[0].find("hardly any time"), std::string::npos);
}

TEST(Autocast, is_not_advised_where_it_is_in_force) {
  model::Job job = example_job();
  job.precision.autocast = "bfloat16";
  EXPECT_EQ(autocast().applies_to(job, example_target()).standing, Standing::kInForce);
  job = example_job();
  job.work.macs = {};
  job.work.macs[static_cast<std::size_t>(model::Number::kBf16)] = 1e12;
  EXPECT_EQ(autocast().applies_to(job, example_target()).standing, Standing::kInForce);
}

TEST(Checkpoint, of_all_blocks_leaves_outputs_one_block_and_what_is_outside) {
  const model::Job job = example_job();
  const auto change = checkpoint().options(job, example_target()).back();
  // 2600 - 12 x 200 outside the blocks, 11 outputs of 20, one block of 200
  const Bytes needs = needs_with(checkpoint(), job, example_target(), change);
  const Bytes activations = Bytes::mib(200 + 11 * 20 + 200);
  EXPECT_NEAR(needs.as_mib(), (activations + Bytes::mib(100 + 200 + 20 + 300)).as_mib(), 20);
  EXPECT_EQ(predict(checkpoint(), job, example_target(), change).effect, Effect::kSame);
}

TEST(Checkpoint, costs_about_one_more_forward_of_its_blocks) {
  const model::Job job = example_job();
  const Target target = example_target();
  const double plain = devices::estimate_step_seconds(target.card, job.work);
  const auto options = checkpoint().options(job, target);
  EXPECT_NEAR(seconds_with(checkpoint(), job, target, options.back()) / plain, 4.0 / 3, 0.02);
  EXPECT_LT(seconds_with(checkpoint(), job, target, options.front()) / plain, 1.1);
}

TEST(Checkpoint, offers_the_smallest_set_that_is_foretold_to_fit) {
  const model::Job job = example_job();
  Target target = example_target(2300);
  const auto options = checkpoint().options(job, target);
  const Bytes wanted = scaled(target.limit, 0.95);
  std::size_t fitting = 0;  // blocks of the mildest option that fits
  for (const auto& change : options) {
    if (needs_with(checkpoint(), job, target, change) > wanted) continue;
    fitting = find_names(change, "modules").size();
    break;
  }
  ASSERT_GT(fitting, 1U);
  auto fewer = find_names(options.back(), "modules");
  fewer.resize(fitting - 1);
  EXPECT_GT(needs_with(checkpoint(), job, target, {"checkpoint", {{"modules", fewer}}}), wanted);
}

TEST(Checkpoint, is_not_advised_where_it_is_in_force_or_worthless) {
  model::Job job = example_job();
  job.precision.checkpointing = true;
  EXPECT_EQ(checkpoint().applies_to(job, example_target()).standing, Standing::kInForce);
  job = example_job();
  job.levels = {example_level(4, 20, 20)};
  EXPECT_EQ(checkpoint().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(OffloadActivations, leaves_what_is_outside_of_the_blocks_and_what_is_at_work) {
  const model::Job job = example_job();
  const Target target = example_target();
  ASSERT_EQ(offload_activations().applies_to(job, target), applicable());
  const auto change = offload_activations().options(job, target).front();
  // 2600 - 12 x 200 outside the blocks, 3 x 200 at work
  const Bytes needs = needs_with(offload_activations(), job, target, change);
  EXPECT_NEAR(needs.as_mib(), Bytes::mib(200 + 600 + 100 + 200 + 20 + 300).as_mib(), 20);
  const Forecast forecast = predict(offload_activations(), job, target, change);
  EXPECT_EQ(forecast.effect, Effect::kSame);
  ASSERT_EQ(forecast.consequences.size(), 1U);
  EXPECT_NE(forecast.consequences[0].find("1800 MiB"), std::string::npos) << forecast.consequences[0];
}

TEST(OffloadActivations, costs_the_way_to_the_host_and_back_however_the_batch_is_split) {
  const model::Job job = example_job();
  const Target target = example_target();
  const auto change = offload_activations().options(job, target).front();
  Forecast forecast = predict(offload_activations(), job, target, change);
  const double moved = 2 * static_cast<double>(Bytes::mib(1800).count());
  EXPECT_DOUBLE_EQ(find_work(forecast).host_bytes, moved);
  micro_batch().predict(job, target, micro_batch().options(job, target).back(), forecast);
  EXPECT_DOUBLE_EQ(find_work(forecast).host_bytes, moved);
}

TEST(OffloadActivations, moves_the_inputs_only_of_checkpointed_blocks) {
  const model::Job job = example_job();
  const Target target = example_target();
  Forecast forecast = predict(checkpoint(), job, target, checkpoint().options(job, target).back());
  const Bytes recomputed = forecast.recomputed;
  offload_activations().predict(job, target, offload_activations().options(job, target).front(), forecast);
  const Bytes moved = std::max(forecast.offloaded - recomputed, Bytes(0));
  EXPECT_DOUBLE_EQ(find_work(forecast).host_bytes, 2 * static_cast<double>(moved.count()));
}

TEST(OffloadActivations, is_not_advised_where_nothing_can_go) {
  model::Job job = example_job();
  Target target = example_target();
  job.precision.compiled = true;
  EXPECT_EQ(offload_activations().applies_to(job, target).standing, Standing::kNotPossible);
  job = example_job();
  job.levels = {example_level(2, 200, 20)};
  EXPECT_EQ(offload_activations().applies_to(job, target).reason,
            "of 2.54 GiB of activations at the peak, 0 B could wait in host memory");
  target.card.is_integrated = true;
  EXPECT_EQ(offload_activations().applies_to(example_job(), target).standing, Standing::kNotPossible);
}

TEST(Optimizer, offers_the_same_updates_with_fewer_temporaries_first) {
  const auto options = optimizer().options(example_job(), example_target());
  std::vector<std::string> names;
  for (const auto& change : options) names.push_back(optimizer().describe(change));
  EXPECT_EQ(names, (std::vector<std::string>{"AdamW foreach=False", "AdamW fused", "SGD", "Adafactor"}));
  EXPECT_EQ(predict(optimizer(), example_job(), example_target(), options[0]).effect, Effect::kSame);
  EXPECT_EQ(predict(optimizer(), example_job(), example_target(), options[2]).effect, Effect::kOptimizer);
}

TEST(Optimizer, keeps_moments_in_8_bits_where_bitsandbytes_is_installed) {
  model::Job job = example_job();
  job.optimizer->has_bitsandbytes = true;
  const auto options = optimizer().options(job, example_target());
  const auto eight_bit = std::ranges::find_if(options, is_eight_bit);
  ASSERT_NE(eight_bit, options.end());
  EXPECT_EQ(optimizer().describe(*eight_bit), "AdamW8bit");
  const Forecast forecast = predict(optimizer(), job, example_target(), *eight_bit);
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(job.stage_peaks[2].holdings.optimizer, 2.03125 / 8));
  job.optimizer->class_name = "SGD";
  EXPECT_TRUE(std::ranges::none_of(optimizer().options(job, example_target()), is_eight_bit));
}

TEST(Optimizer, moments_in_8_bits_save_less_of_a_job_in_bfloat16) {
  model::Job job = example_job();
  job.optimizer->has_bitsandbytes = true;
  job.parameters = job.parameter_bytes.count() / 2;
  const auto options = optimizer().options(job, example_target());
  const auto eight_bit = std::ranges::find_if(options, is_eight_bit);
  ASSERT_NE(eight_bit, options.end());
  const Forecast forecast = predict(optimizer(), job, example_target(), *eight_bit);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(job.stage_peaks[2].holdings.optimizer, 2.03125 / 4));
}

TEST(Optimizer, adafactor_keeps_what_the_shapes_of_this_job_say) {
  model::Job job = example_job();
  job.optimizer->factored = Bytes::mib(6);
  const auto change = optimizer().options(job, example_target()).back();
  ASSERT_EQ(optimizer().describe(change), "Adafactor");
  EXPECT_EQ(predict(optimizer(), job, example_target(), change).stage_peaks[2].holdings.optimizer, Bytes::mib(6));
  job.optimizer->factored = Bytes::mib(130);  // 3 x 3 kernels: two thirds of each weight
  EXPECT_EQ(optimizer().describe(optimizer().options(job, example_target()).back()), "SGD") << "it keeps less";
  job.optimizer->factored = Bytes::mib(220);
  for (const auto& one : optimizer().options(job, example_target())) EXPECT_NE(optimizer().describe(one), "Adafactor");
}

TEST(Optimizer, lion_is_another_training_with_one_moment_in_8_bits) {
  model::Job job = example_job();
  job.optimizer->has_bitsandbytes = true;
  const auto options = optimizer().options(job, example_target());
  const auto lion = std::ranges::find_if(
      options, [](const model::Change& change) { return optimizer().describe(change) == "Lion8bit"; });
  ASSERT_NE(lion, options.end());
  EXPECT_FALSE(is_eight_bit(*lion)) << "that promises Adam's steps in fewer bits";
  const Forecast forecast = predict(optimizer(), job, example_target(), *lion);
  EXPECT_EQ(forecast.effect, Effect::kOptimizer);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(job.stage_peaks[2].holdings.optimizer, 2.03125 / 16));
  Bytes before = add_up(job, start_forecast(job)).needs;
  for (const model::Change& change : options) {
    const Bytes needs = needs_with(optimizer(), job, example_target(), change);
    EXPECT_LE(needs, before) << optimizer().describe(change);
    before = needs;
  }
}

TEST(HalfWeights, halve_what_is_held_but_the_inputs) {
  const model::Job job = example_job();
  ASSERT_EQ(half_weights().applies_to(job, example_target()), applicable());
  const auto change = half_weights().options(job, example_target()).front();
  const Forecast forecast = predict(half_weights(), job, example_target(), change);
  const model::Holdings& held = forecast.stage_peaks[2].holdings;
  EXPECT_EQ(held.weights, Bytes::mib(100)) << "they are whole while they are loaded";
  EXPECT_EQ(forecast.later_weights, 0.5);
  EXPECT_EQ(forecast.gradient_share, 0.5);
  EXPECT_EQ(held.optimizer, Bytes::mib(100));
  EXPECT_EQ(held.inputs, Bytes::mib(20));
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
}

TEST(HalfWeights, take_what_a_run_of_their_own_showed) {
  model::Job job = example_job();
  job.measured["half_weights"] = job.stage_peaks;
  for (model::StagePeak& moment : job.measured["half_weights"]) {
    moment.holdings.activations = scaled(moment.holdings.activations, 0.75);
  }
  const auto change = half_weights().options(job, example_target()).front();
  const Forecast forecast = predict(half_weights(), job, example_target(), change);
  EXPECT_EQ(forecast.measured_with, "half_weights");
  EXPECT_EQ(forecast.stage_peaks[2].holdings.activations, scaled(job.stage_peaks[2].holdings.activations, 0.75));
}

TEST(HalfWeights, need_a_card_and_a_script_that_they_are_for) {
  const Target target = example_target();
  Target older = target;
  older.card.capability = {7, 5};
  EXPECT_EQ(half_weights().applies_to(example_job(), older).standing, Standing::kNotPossible);
  model::Job job = example_job();
  job.precision.scaler = true;
  EXPECT_EQ(half_weights().applies_to(job, target).standing, Standing::kNotPossible);
  job = example_job();
  job.parameter_bytes = Bytes(2 * job.parameters);
  EXPECT_EQ(half_weights().applies_to(job, target).standing, Standing::kInForce);
}

TEST(Lora, leaves_gradients_and_state_of_the_adapters_alone) {
  const model::Job job = job_with_everything_applicable();
  const auto options = lora().options(job, example_target());
  ASSERT_EQ(options.size(), 3U);
  const Forecast forecast = predict(lora(), job, example_target(), options[0]);
  const double share = (8 * 100'000.0 + 10'000) / 26'000'000;
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(Bytes::mib(200), share));
  EXPECT_EQ(forecast.gradient_share, share);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.temporaries, scaled(Bytes::mib(200), share));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, job.stage_peaks[0].holdings.activations);
  EXPECT_EQ(forecast.effect, Effect::kOptimizer);
  EXPECT_GT(forecast.later_weights, 1) << "the adapters come on top";
}

TEST(Lora, holds_weights_in_half_once_training_begins) {
  const model::Job job = job_with_everything_applicable();
  const auto change = lora().options(job, example_target())[1];
  EXPECT_EQ(lora().describe(change), "LoRA of rank 8, frozen weights in bf16");
  const Forecast forecast = predict(lora(), job, example_target(), change);
  const double bytes = static_cast<double>(job.parameter_bytes.count());
  EXPECT_NEAR(forecast.later_weights, 1 - (2 * 24e6 - 4 * 8 * 1e5) / bytes, 1e-9);
}

TEST(Lora, holds_weights_beside_adapters_in_4_bits_and_pays_for_making_them_again) {
  model::Job job = job_with_everything_applicable();
  const auto options = lora().options(job, example_target());
  EXPECT_EQ(lora().describe(options[2]), "LoRA of rank 8, frozen weights in 4 bits");
  const Forecast in_half = predict(lora(), job, example_target(), options[1]);
  const Forecast in_4_bits = predict(lora(), job, example_target(), options[2]);
  const double bytes = static_cast<double>(job.parameter_bytes.count());
  const double adapted = static_cast<double>(job.linear_layers->adapted), halved = 24e6;
  const double saved = adapted * (4 - 4 / 64.0 - 0.5) + (halved - adapted) * 2;
  EXPECT_NEAR(in_4_bits.later_weights, 1 - (saved - 4 * 8 * 1e5) / bytes, 1e-9);
  EXPECT_LT(in_4_bits.later_weights, in_half.later_weights);
  EXPECT_GT(in_4_bits.work.other_bytes, in_half.work.other_bytes);
  job.linear_layers->halved = 0;  // they are in bf16 today
  const auto of_bf16 = lora().options(job, example_target());
  ASSERT_EQ(of_bf16.size(), 2U);
  EXPECT_EQ(of_bf16[1], options[2]);
  EXPECT_LT(predict(lora(), job, example_target(), of_bf16[1]).later_weights, 1);
}

TEST(Lora, keeps_what_its_own_run_kept_each_type_by_itself) {
  model::Job job = job_with_everything_applicable();
  const auto changes = lora().find_all_measurable(job, example_target());
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(predict(lora(), job, example_target(), changes[0]).measured_with, "");
  job.measured["lora"] = job.stage_peaks;
  for (model::StagePeak& moment : job.measured["lora"]) {
    moment.holdings.activations = scaled(moment.holdings.activations, 0.75);
  }
  const Forecast forecast = predict(lora(), job, example_target(), changes[0]);
  EXPECT_EQ(forecast.measured_with, "lora");
  EXPECT_EQ(forecast.stage_peaks[2].holdings.activations, scaled(job.stage_peaks[2].holdings.activations, 0.75));
  EXPECT_EQ(predict(lora(), job, example_target(), changes[1]).measured_with, "") << "its weights are in bf16";
  job.measured["lora:bfloat16"] = job.stage_peaks;
  EXPECT_EQ(predict(lora(), job, example_target(), changes[1]).measured_with, "lora:bfloat16");
}

TEST(Lora, is_for_networks_that_learnt_before_and_train_linear_layers) {
  model::Job job = job_with_everything_applicable();
  const Target target = example_target();
  EXPECT_EQ(lora().applies_to(job, target), applicable());
  job.linear_layers->loaded = false;
  EXPECT_NE(lora().applies_to(job, target).reason.find("no weights were loaded"), std::string::npos);
  job.linear_layers = {26'000'000, 0, 2'000'000, 4, 10'000, 10'000, 2'000'000, true};
  EXPECT_NE(lora().applies_to(job, target).reason.find("8 % of what it trains"), std::string::npos);
  job.linear_layers = {1'000'000, 25'000'000, 900'000, 4, 10'000, 10'000, 0, true};
  EXPECT_EQ(lora().applies_to(job, target).standing, Standing::kInForce);
  job.linear_layers.reset();
  EXPECT_EQ(lora().applies_to(job, target).standing, Standing::kNotPossible);
}

TEST(Optimizer, fused_sgd_already_keeps_as_little_as_it_can) {
  model::Job job = example_job();
  job.optimizer = model::OptimizerFacts{"SGD", std::nullopt, true, Bytes::mib(100)};
  EXPECT_EQ(optimizer().applies_to(job, example_target()).standing, Standing::kInForce);
}

model::Job job_that_keeps_gradients(bool after_forward) {
  model::Job job = example_job();
  job.kept_gradients = model::KeptGradients{"train.py:31 in train", after_forward};
  for (model::StagePeak& moment : job.stage_peaks) moment.holdings.gradients = Bytes::mib(100);
  return job;
}

TEST(OffloadOptimizer, leaves_the_state_of_what_a_step_updates_at_once) {
  const model::Job job = example_job();
  const Target target = example_target();
  ASSERT_EQ(offload_optimizer().applies_to(job, target), applicable());
  const auto change = offload_optimizer().options(job, target).front();
  const Forecast forecast = predict(offload_optimizer(), job, target, change);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.optimizer, Bytes(0)) << "in backward, all of it waits";
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, scaled(Bytes::mib(200), 0.64)) << "64 MiB of 100 at once";
  EXPECT_EQ(forecast.stage_peaks[2].holdings.temporaries, scaled(Bytes::mib(200), 0.64));
  EXPECT_EQ(forecast.stage_peaks[2].holdings.gradients, job.stage_peaks[2].holdings.gradients);
  EXPECT_EQ(forecast.stage_peaks[3].holdings.optimizer, Bytes(0)) << "an evaluation finds none of it";
  EXPECT_EQ(find_work(forecast).host_bytes, 2.0 * Bytes::mib(200).count()) << "there and back";
  EXPECT_EQ(forecast.effect, Effect::kSame);
}

TEST(OffloadOptimizer, is_not_advised_where_there_is_no_state_or_no_other_memory) {
  model::Job job = example_job();
  job.optimizer->state = Bytes::mib(50);
  EXPECT_EQ(offload_optimizer().applies_to(job, example_target()).reason,
            "of 2.85 GiB at the peak, 50 MiB are AdamW's state");
  job = example_job();
  job.optimizer->class_name = "LBFGS";
  EXPECT_EQ(offload_optimizer().applies_to(job, example_target()).standing, Standing::kNotPossible);
  Target target = example_target();
  target.card.is_integrated = true;
  EXPECT_EQ(offload_optimizer().applies_to(example_job(), target).standing, Standing::kNotPossible);
  EXPECT_EQ(offload_optimizer().slot(), optimizer().slot()) << "other optimizers have steps of their own";
}

TEST(ReleaseGradients, leaves_the_gradient_and_the_temporaries_of_one_parameter) {
  const model::Job job = example_job();
  const Target target = example_target();
  ASSERT_EQ(release_gradients().applies_to(job, target), applicable());
  const auto change = release_gradients().options(job, target).front();
  const Forecast forecast = predict(release_gradients(), job, target, change);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.gradients, Bytes::mib(10));
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, job.stage_peaks[1].holdings.activations);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.gradients, Bytes(0)) << "the script's step finds none";
  EXPECT_EQ(forecast.stage_peaks[2].holdings.temporaries, Bytes::mib(20));
  EXPECT_EQ(forecast.stage_peaks[3], job.stage_peaks[3]);
  EXPECT_EQ(forecast.effect, Effect::kSame);
}

TEST(ReleaseGradients, never_adds_up_micro_batches) { EXPECT_EQ(release_gradients().slot(), micro_batch().slot()); }

TEST(ReleaseGradients, is_not_advised_where_a_step_needs_all_gradients_or_they_are_few) {
  const Target target = example_target();
  model::Job job = example_job();
  job.optimizer->class_name = "LBFGS";
  EXPECT_EQ(release_gradients().applies_to(job, target).standing, Standing::kNotPossible);
  job = example_job();
  job.precision.scaler = true;
  EXPECT_EQ(release_gradients().applies_to(job, target).standing, Standing::kNotPossible);
  job = example_job();
  job.optimizer->largest = Bytes::mib(95);
  EXPECT_EQ(release_gradients().applies_to(job, target).reason,
            "of 2.85 GiB at the peak, gradients hold 100 MiB, of which 95 MiB are of one parameter");
}

TEST(ZeroGradSetToNone, frees_gradients_while_activations_are_alive) {
  const model::Job job = job_that_keeps_gradients(false);
  const auto change = zero_grad_set_to_none().options(job, example_target())[0];
  const Forecast forecast = predict(zero_grad_set_to_none(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.gradients, Bytes(0));
  EXPECT_EQ(forecast.stage_peaks[1].holdings.gradients, Bytes::mib(50)) << "they come back as the pass goes on";
  EXPECT_EQ(forecast.stage_peaks[2], job.stage_peaks[2]) << "the optimizer needs all of them";
  EXPECT_EQ(forecast.stage_peaks[3], job.stage_peaks[3]) << "an evaluation may come before they are zeroed";
  EXPECT_EQ(forecast.effect, Effect::kSame);
}

TEST(ZeroGradSetToNone, leaves_a_forward_pass_what_is_zeroed_after_it) {
  const model::Job job = job_that_keeps_gradients(true);
  const auto change = zero_grad_set_to_none().options(job, example_target())[0];
  const Forecast forecast = predict(zero_grad_set_to_none(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0], job.stage_peaks[0]);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.gradients, Bytes::mib(50));
}

TEST(ZeroGradSetToNone, frees_nothing_beside_micro_batches) {
  const model::Job job = job_that_keeps_gradients(false);
  const auto change = zero_grad_set_to_none().options(job, example_target())[0];
  Forecast forecast = predict(micro_batch(), job, example_target(), micro_batch().options(job, example_target())[0]);
  const Forecast before = forecast;
  zero_grad_set_to_none().predict(job, example_target(), change, forecast);
  EXPECT_EQ(forecast.stage_peaks, before.stage_peaks) << "the next micro-batch adds to the gradients of the last";
}

TEST(ZeroGradSetToNone, is_only_possible_where_the_script_keeps_them) {
  EXPECT_EQ(zero_grad_set_to_none().applies_to(example_job(), example_target()).standing, Standing::kNotPossible);
  EXPECT_EQ(zero_grad_set_to_none().applies_to(job_that_keeps_gradients(false), example_target()), applicable());
}

TEST(ValidationBatch, shrinks_evaluation_alone) {
  const model::Job job = example_job();
  const auto options = validation_batch().options(job, example_target());
  ASSERT_EQ(options.size(), 2U);  // 2, 1
  const Forecast forecast = predict(validation_batch(), job, example_target(), options[1]);
  EXPECT_EQ(forecast.stage_peaks[0], job.stage_peaks[0]);
  EXPECT_EQ(forecast.stage_peaks[3].holdings.activations, Bytes::mib(75));
}

TEST(NoGradValidation, is_only_possible_where_evaluation_left_a_graph) {
  model::Job job = example_job();
  EXPECT_EQ(no_grad_validation().applies_to(job, example_target()).standing, Standing::kInForce);
  job.validates_with_gradients = true;
  EXPECT_EQ(no_grad_validation().applies_to(job, example_target()).standing, Standing::kApplicable);
  job.phases.pop_back();
  EXPECT_EQ(no_grad_validation().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

// What a run with the technique alone showed of `job`: these activations and weights in its evaluation.
void add_measured(model::Job& job, std::string_view technique, Bytes activations, Bytes weights) {
  std::vector<model::StagePeak> moments = job.stage_peaks;
  for (model::StagePeak& moment : moments) {
    if (is_evaluation(moment)) moment.holdings.activations = activations;
    moment.holdings.weights = weights;
  }
  job.measured[std::string(technique)] = std::move(moments);
}

TEST(HalfEvaluation, halves_what_was_measured_and_leaves_training_alone) {
  model::Job job = example_job();
  job.stage_peaks[3].holdings.activations = Bytes::mib(3000);
  add_measured(job, "half_evaluation", Bytes::mib(1800), Bytes::mib(100));
  ASSERT_EQ(half_evaluation().applies_to(job, example_target()), applicable());
  const auto options = half_evaluation().options(job, example_target());
  ASSERT_EQ(options.size(), 1U) << "weights that are trained stay as they are";
  EXPECT_EQ(half_evaluation().describe(options[0]), "evaluation in bf16");
  const Forecast forecast = predict(half_evaluation(), job, example_target(), options[0]);
  EXPECT_EQ(forecast.stage_peaks[3].holdings.activations, Bytes::mib(1800));
  EXPECT_EQ(forecast.stage_peaks[3].holdings.weights, Bytes::mib(100)) << "without autocast's cache";
  EXPECT_EQ(forecast.stage_peaks[0], job.stage_peaks[0]);
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  EXPECT_EQ(forecast.measured_with, "half_evaluation") << "played from the run of its own";
  EXPECT_EQ(half_evaluation().slot(), autocast().slot());
}

TEST(HalfEvaluation, keeps_weights_in_half_where_nothing_is_trained) {
  const model::Job job = evaluating_job();
  const auto options = half_evaluation().options(job, example_target());
  ASSERT_EQ(options.size(), 2U);
  const Forecast forecast = predict(half_evaluation(), job, example_target(), options[1]);
  EXPECT_EQ(forecast.weight_share, 0.5);
  const Bytes load = add_up(job, start_forecast(job)).phases[0].peak;
  EXPECT_NEAR((load - add_up(job, forecast).phases[0].peak).as_mib(), 200, 20) << "they go to the card in half";
  Target turing = example_target();
  turing.card.capability = {7, 5};
  EXPECT_EQ(half_evaluation().describe(half_evaluation().options(job, turing)[1]), "evaluation in fp16, weights too");
}

TEST(HalfEvaluation, says_in_numbers_that_evaluation_is_not_what_runs_out) {
  const Applicability found = half_evaluation().applies_to(example_job(), example_target());
  EXPECT_EQ(found.standing, Standing::kNotPossible);
  EXPECT_EQ(found.reason, "evaluation needs 920 MiB of 2.00 GiB: it is not what runs out");
  model::Job job = evaluating_job();
  job.precision.autocast = "float16";
  EXPECT_EQ(half_evaluation().applies_to(job, example_target()).standing, Standing::kInForce);
  job = evaluating_job();
  job.stage_peaks.clear();
  EXPECT_EQ(half_evaluation().applies_to(job, example_target()).reason, "the script does not evaluate");
}

TEST(Tiles, leave_what_a_run_with_them_showed) {
  model::Job job = evaluating_job();
  add_measured(job, "tiles:4", Bytes::mib(650), Bytes::mib(100));
  const auto options = tiles().options(job, example_target());
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(tiles().describe(options[1]), "evaluation in 4 x 4 tiles");
  const Forecast forecast = predict(tiles(), job, example_target(), options[1]);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, Bytes::mib(650));
  EXPECT_EQ(forecast.stage_peaks[1].holdings.weights, Bytes::mib(400));
  EXPECT_EQ(forecast.effect, Effect::kSame);
  EXPECT_EQ(predict(tiles(), job, example_target(), options[0]).stage_peaks[1].holdings.activations, Bytes::mib(845));
  EXPECT_EQ(measured_key(tiles().find_all_measurable(job, example_target()).at(0)), "tiles:4");
  add_measured(job, "tiles:2", Bytes::mib(1900), Bytes::mib(100));
  EXPECT_EQ(predict(tiles(), job, example_target(), options[0]).stage_peaks[1].holdings.activations, Bytes::mib(1900))
      << "two a side have a run of their own";
  EXPECT_EQ(predict(tiles(), job, example_target(), options[1]).stage_peaks[1].holdings.activations, Bytes::mib(650));
}

TEST(Tiles, leave_smaller_batches_less_to_free) {
  model::Job job = evaluating_job();
  add_measured(job, "tiles:4", Bytes::mib(650), Bytes::mib(100));
  Forecast forecast = predict(tiles(), job, example_target(), tiles().options(job, example_target())[1]);
  const Bytes before = add_up(job, forecast).needs;
  validation_batch().predict(job, example_target(), validation_batch().options(job, example_target())[1], forecast);
  const Bytes freed = before - add_up(job, forecast).needs;
  EXPECT_GT(freed.as_mib(), 200);
  EXPECT_LT(freed.as_mib(), 300) << "of 650 MiB, half are of one sample: a quarter of the batch leaves 406";
}

TEST(Autocast, and_its_scaler_are_for_jobs_that_train) {
  EXPECT_EQ(autocast().applies_to(evaluating_job(), example_target()).standing, Standing::kNotPossible);
  EXPECT_EQ(autocast().applies_to(example_job(), example_target()), applicable());
}

TEST(Tiles, need_large_images) {
  model::Job job = evaluating_job();
  job.loaders[0].shapes = {{4, 3, 64, 96}};
  EXPECT_EQ(tiles().applies_to(job, example_target()).reason,
            "images of the evaluation are 64 x 96: too small for tiles");
  job.loaders[0].shapes = {{4, 128}};
  EXPECT_EQ(tiles().applies_to(job, example_target()).reason, "a batch of the evaluation has 2 dimensions: no images");
  job.loaders.clear();
  EXPECT_EQ(tiles().applies_to(job, example_target()), applicable()) << "a run tells";
}

TEST(Int8Weights, leave_the_weights_that_a_run_with_them_showed) {
  model::Job job = evaluating_job();
  add_measured(job, "int8_weights", Bytes::mib(2626), Bytes::mib(104));
  const auto change = int8_weights().options(job, example_target())[0];
  Forecast forecast = predict(int8_weights(), job, example_target(), change);
  EXPECT_NEAR(forecast.weight_share, 0.26, 1e-9);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, Bytes::mib(2626)) << "a layer's weights as numbers";
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  half_evaluation().predict(job, example_target(), half_evaluation().options(job, example_target())[1], forecast);
  EXPECT_NEAR(forecast.weight_share, 0.26, 1e-9) << "8 bits are not halved again";
}

TEST(Int4Weights, leave_the_weights_that_a_run_with_them_showed_and_never_go_with_8_bits) {
  model::Job job = evaluating_job();
  const auto change = int4_weights().options(job, example_target())[0];
  EXPECT_NEAR(predict(int4_weights(), job, example_target(), change).weight_share, 0.17, 1e-9);
  add_measured(job, "int4_weights", Bytes::mib(2640), Bytes::mib(60));
  const Forecast forecast = predict(int4_weights(), job, example_target(), change);
  EXPECT_NEAR(forecast.weight_share, 0.15, 1e-9);
  EXPECT_EQ(forecast.stage_peaks[1].holdings.activations, Bytes::mib(2640));
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  EXPECT_EQ(int4_weights().slot(), int8_weights().slot());
  EXPECT_EQ(int4_weights().applies_to(example_job(), example_target()).standing, Standing::kNotPossible);
}

TEST(HalfTeacher, halves_the_teachers_weights_and_leaves_the_students) {
  model::Job job = example_job();
  EXPECT_EQ(half_teacher().applies_to(job, example_target()).standing, Standing::kNotPossible);
  job.teacher = model::TeacherFacts{"BigNet", Bytes::mib(60), true};
  ASSERT_EQ(half_teacher().applies_to(job, example_target()), applicable());
  const auto change = half_teacher().options(job, example_target())[0];
  EXPECT_EQ(half_teacher().describe(change), "teacher in bf16");
  const Forecast forecast = predict(half_teacher(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.weights, Bytes::mib(70));
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, job.stage_peaks[2].holdings.optimizer);
  EXPECT_EQ(forecast.effect, Effect::kPrecision);
  job.teacher->is_float = false;
  EXPECT_EQ(half_teacher().applies_to(job, example_target()).standing, Standing::kInForce);
  job.teacher = model::TeacherFacts{"BigNet", Bytes::mib(6), true};
  EXPECT_EQ(half_teacher().applies_to(job, example_target()).reason,
            "weights of the teacher (BigNet) are 6.0 MiB alone");
}

// What a run with the smaller network showed of `job`: this share of all that training holds, and of its work.
void add_smaller(model::Job& job, const std::string& name, double share) {
  std::vector<model::StagePeak> moments = job.stage_peaks;
  for (model::StagePeak& moment : moments) {
    moment.holdings.weights = scaled(moment.holdings.weights, share);
    moment.holdings.activations = scaled(moment.holdings.activations, share);
  }
  job.measured["smaller_model:" + name] = std::move(moments);
  job.measured_work["smaller_model:" + name] = job.work;
  scale_work(job.measured_work["smaller_model:" + name], share);
}

TEST(SmallerModel, offers_what_runs_of_the_smaller_ones_showed) {
  model::Job job = job_with_everything_applicable();
  const auto all = smaller_model().find_all_measurable(job, example_target());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(smaller_model().options(job, example_target()), all) << "no run told anything yet";
  EXPECT_EQ(smaller_model().describe(all[1]), "resnet50 instead of resnet152");
  add_smaller(job, "resnet101", 0.8);
  add_smaller(job, "resnet50", 0.5);
  const Forecast forecast = predict(smaller_model(), job, example_target(), all[1]);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(1300));
  EXPECT_EQ(forecast.stage_peaks[0].holdings.weights, Bytes::mib(50));
  EXPECT_NEAR(total_macs(forecast.work), 5e11, 1);
  EXPECT_EQ(forecast.measured_with, "smaller_model:resnet50");
  EXPECT_EQ(forecast.effect, Effect::kNetwork);
  EXPECT_EQ(tier_of(forecast.effect), Tier::kAnother);
}

TEST(SmallerModel, leaves_out_what_was_not_run_and_what_is_no_smaller) {
  model::Job job = job_with_everything_applicable();
  add_smaller(job, "resnet101", 1.1);
  EXPECT_TRUE(smaller_model().options(job, example_target()).empty());
  add_smaller(job, "resnet50", 0.5);
  ASSERT_EQ(smaller_model().options(job, example_target()).size(), 1U);
}

TEST(SmallerModel, is_for_networks_of_a_family_without_weights_of_their_own) {
  model::Job job = job_with_everything_applicable();
  EXPECT_EQ(smaller_model().slot(), checkpoint().slot()) << "modules are named as in the script's own";
  job.network->smaller.clear();
  EXPECT_EQ(smaller_model().applies_to(job, example_target()).reason,
            "resnet152 is the smallest of its family that is known");
  job.network = model::NetworkFacts{"transformers", "bert-large", {"bert-base"}, 0, true};
  EXPECT_EQ(smaller_model().applies_to(job, example_target()).standing, Standing::kNotPossible);
  job.network.reset();
  EXPECT_EQ(smaller_model().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(Prune, offers_what_runs_with_fewer_channels_showed) {
  model::Job job = job_with_everything_applicable();
  const auto all = prune().find_all_measurable(job, example_target());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(prune().options(job, example_target()), all) << "no run told anything yet";
  EXPECT_EQ(prune().describe(all[0]), "25 % of channels pruned");
  EXPECT_EQ(model::find_number(all[0], "share"), 0.25);
  EXPECT_EQ(needs_with(prune(), job, example_target(), all[1]) < needs_with(prune(), job, example_target(), all[0]),
            true);
  job.measured["prune:0.25"] = job.stage_peaks;
  EXPECT_TRUE(prune().options(job, example_target()).empty()) << "it needed as much, and the other was not run";
  for (model::StagePeak& moment : job.measured["prune:0.25"]) {
    moment.holdings.activations = scaled(moment.holdings.activations, 0.5);
  }
  ASSERT_EQ(prune().options(job, example_target()).size(), 1U);
  const Forecast forecast = predict(prune(), job, example_target(), all[0]);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(1300));
  EXPECT_EQ(forecast.measured_with, "prune:0.25");
  EXPECT_EQ(tier_of(forecast.effect), Tier::kAnother);
  EXPECT_EQ(prune().slot(), checkpoint().slot());
}

TEST(Prune, says_what_it_lacks) {
  model::Job job = job_with_everything_applicable();
  job.convolution_layers->has_torch_pruning = false;
  EXPECT_NE(prune().applies_to(job, example_target()).reason.find("pip install torch-pruning"), std::string::npos);
  job.convolution_layers->sample.clear();
  EXPECT_EQ(prune().applies_to(job, example_target()).reason, "the network is called otherwise than with one tensor");
  job.convolution_layers->layers = 1;
  EXPECT_EQ(prune().applies_to(job, example_target()).standing, Standing::kNotPossible);
  job.convolution_layers.reset();
  EXPECT_EQ(prune().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(HostTransforms, holds_what_its_run_showed) {
  model::Job job = job_with_everything_applicable();
  ASSERT_EQ(host_transforms().applies_to(job, example_target()), applicable());
  const auto change = host_transforms().options(job, example_target()).front();
  EXPECT_EQ(predict(host_transforms(), job, example_target(), change).stage_peaks, job.stage_peaks) << "was not run";
  job.measured["host_transforms"] = job.stage_peaks;
  job.measured["host_transforms"][0].holdings.activations = Bytes::mib(26);
  const Forecast forecast = predict(host_transforms(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(26));
  job.measured_work["host_transforms"] = job.work;
  scale_work(job.measured_work["host_transforms"], 0.1);
  EXPECT_EQ(total_macs(predict(host_transforms(), job, example_target(), change).work), total_macs(job.work))
      << "it is done elsewhere, in a time that is not known";
  EXPECT_EQ(forecast.effect, Effect::kRounding);
  EXPECT_EQ(forecast.measured_with, "host_transforms");
  job.card_transforms.clear();
  EXPECT_EQ(host_transforms().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(SparseEmbeddings, frees_the_gradients_of_rows_that_are_not_used) {
  model::Job job = job_with_everything_applicable();
  const auto change = sparse_embeddings().options(job, example_target()).front();
  EXPECT_EQ(sparse_embeddings().describe(change), "sparse gradients of embeddings, SparseAdam");
  const Bytes gradients = Bytes::mib(100);
  const Forecast forecast = predict(sparse_embeddings(), job, example_target(), change);
  EXPECT_NEAR(forecast.gradient_share, 1 - 36.0 / (static_cast<double>(gradients.count()) / (1 << 20)), 1e-6);
  EXPECT_EQ(forecast.effect, Effect::kOptimizer);
  EXPECT_EQ(forecast.stage_peaks[2].holdings.optimizer, job.stage_peaks[2].holdings.optimizer) << "moments are whole";
  job.sparse_embeddings->same = true;
  const auto own = sparse_embeddings().options(job, example_target()).front();
  EXPECT_TRUE(own.settings.empty());
  EXPECT_EQ(predict(sparse_embeddings(), job, example_target(), own).effect, Effect::kRounding);
  EXPECT_EQ(sparse_embeddings().slot(), optimizer().slot());
}

TEST(SparseEmbeddings, is_for_large_ones_of_which_a_step_uses_few_rows) {
  model::Job job = job_with_everything_applicable();
  ASSERT_EQ(sparse_embeddings().applies_to(job, example_target()), applicable());
  job.sparse_embeddings->touched = Bytes::mib(30);
  EXPECT_EQ(sparse_embeddings().applies_to(job, example_target()).reason,
            "a step uses as many rows of the embeddings as they have");
  job.sparse_embeddings->weights = Bytes::mib(4);
  EXPECT_EQ(sparse_embeddings().applies_to(job, example_target()).reason,
            "gradients of embeddings are 4 % of all gradients");
  job.sparse_embeddings->why_not = "NAdam takes no sparse gradients";
  EXPECT_EQ(sparse_embeddings().applies_to(job, example_target()).reason, "NAdam takes no sparse gradients");
  job.sparse_embeddings.reset();
  EXPECT_EQ(sparse_embeddings().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(ResizeInput, follows_what_a_run_at_half_of_the_size_showed) {
  model::Job job = example_job();
  const auto options = resize_input().options(job, example_target());
  const auto half = resize_input().find_all_measurable(job, example_target()).front();
  ASSERT_EQ(half, options[1]) << "what the other can be guessed from comes first";
  add_measured(job, "resize_input:0.5", Bytes::mib(0), Bytes::mib(100));
  job.measured["resize_input:0.5"][0].holdings.activations =
      Bytes::mib(2600 * 4 / 10);  // 0.4: 0.15 of it does not shrink
  EXPECT_EQ(predict(resize_input(), job, example_target(), half).stage_peaks[0].holdings.activations, Bytes::mib(1040));
  EXPECT_NEAR(predict(resize_input(), job, example_target(), options[0]).stage_peaks[0].holdings.activations.as_mib(),
              2600 * (1 - 0.6 * (1 - 0.5625) / 0.75), 1);
  EXPECT_EQ(predict(resize_input(), job, example_target(), half).stage_peaks[0].holdings.weights, Bytes::mib(100));
  // Sequences: half of the length left 0.3: by 0.2 of the length and 0.8 of its square.
  job.loaders[0].shapes = {{8, 512}};
  job.measured["resize_input:0.5"][0].holdings.activations = Bytes::mib(780);
  EXPECT_NEAR(predict(resize_input(), job, example_target(), options[0]).stage_peaks[0].holdings.activations.as_mib(),
              2600 * (0.2 * 0.75 + 0.8 * 0.5625), 1);
}

TEST(ResizeInput, of_each_size_its_own_run_is_what_counts) {
  model::Job job = example_job();
  const auto options = resize_input().options(job, example_target());
  const auto measurable = resize_input().find_all_measurable(job, example_target());
  ASSERT_EQ(measurable, (std::vector{options[1], options[0]}));
  add_measured(job, "resize_input:0.5", Bytes::mib(0), Bytes::mib(100));
  add_measured(job, "resize_input:0.75", Bytes::mib(0), Bytes::mib(100));
  ASSERT_EQ(measured_key(options[0]), "resize_input:0.75");
  job.measured["resize_input:0.75"][0].holdings.activations = Bytes::mib(2700);  // larger workspaces than at whole size
  const Forecast forecast = predict(resize_input(), job, example_target(), options[0]);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(2700));
  EXPECT_EQ(forecast.measured_with, "resize_input:0.75");
  EXPECT_EQ(forecast.inputs_left, forecast.inputs_left_measured) << "nothing lies between";
}

TEST(Forecast, begins_from_the_run_that_shows_most) {
  Forecast forecast;
  EXPECT_EQ(find_best_run(forecast), "");
  forecast.evaluation_measured_with = "no_grad_validation";
  EXPECT_EQ(find_best_run(forecast), "no_grad_validation");
  forecast.step_measured_with = "release_gradients";
  EXPECT_EQ(find_best_run(forecast), "release_gradients");
  forecast.saved_measured_with = "offload_activations";
  EXPECT_EQ(find_best_run(forecast), "offload_activations");
  forecast.activation_scale = 0.5;
  EXPECT_EQ(find_best_run(forecast), "release_gradients") << "smaller tensors may stay on the card";
  forecast.activation_scale = 1;
  const model::Change checkpoint{"checkpoint", {}};
  forecast.repeats = &checkpoint;
  EXPECT_EQ(find_best_run(forecast), "release_gradients") << "other tensors are saved";
  forecast.measured_with = "autocast";
  EXPECT_EQ(find_best_run(forecast), "autocast") << "sizes are known from a run alone";
}

TEST(Forecast, lives_of_blocks_come_from_a_run_of_their_own) {
  model::Job job = example_job();
  for (const Technique* technique :
       {&no_grad_validation(), &offload_activations(), &release_gradients(), &offload_optimizer()}) {
    const model::Change change = technique->find_measurable(job, example_target()).value();
    EXPECT_TRUE(technique->is_foretold_unmeasured()) << technique->id();
    EXPECT_EQ(find_best_run(predict(*technique, job, example_target(), change)), "");
    job.measured[std::string(technique->id())] = job.stage_peaks;
    EXPECT_EQ(find_best_run(predict(*technique, job, example_target(), change)), technique->id());
  }
}

TEST(ResizeInput, counts_the_sides_that_the_inputs_come_to) {
  model::Job job = example_job();
  job.loaders[0].shapes = {{8, 64}};  // 48 is no multiple of 32
  ASSERT_EQ(resize_input().options(job, example_target()).size(), 1u) << "x 0.75 leaves 64 as they are";
  job.loaders[0].shapes = {{8, 3, 224, 224}};  // 168 becomes 160, and 112 128
  const auto options = resize_input().options(job, example_target());
  ASSERT_EQ(options.size(), 2u);
  const Forecast forecast = predict(resize_input(), job, example_target(), options[0]);
  EXPECT_NEAR(forecast.stage_peaks[0].holdings.activations.as_mib(), 2600 * 160.0 * 160 / (224 * 224), 1);
}

TEST(Int8Weights, are_for_jobs_that_only_evaluate_and_whose_weights_matter) {
  model::Job job = evaluating_job();
  ASSERT_EQ(int8_weights().applies_to(job, example_target()), applicable());
  job.parameter_bytes = Bytes::mib(90);
  EXPECT_EQ(int8_weights().applies_to(job, example_target()).reason,
            "weights are 90 MiB of the 3.28 GiB that evaluation needs");
  EXPECT_EQ(int8_weights().applies_to(example_job(), example_target()).reason,
            "the script trains (AdamW): weights stay as they are");
}

TEST(Allocator, is_left_alone_when_memory_is_not_fragmented) {
  EXPECT_EQ(allocator().applies_to(example_job(), example_target()).standing, Standing::kNotPossible);
  EXPECT_EQ(allocator().applies_to(job_with_everything_applicable(), example_target()).standing, Standing::kApplicable);
}

TEST(ChunkedLoss, frees_two_copies_of_the_logits_or_what_a_run_showed) {
  model::Job job = job_with_everything_applicable();
  const model::Change change = chunked_loss().options(job, example_target()).front();
  const Bytes before = sum(job.stage_peaks[0].holdings);
  EXPECT_NEAR(sum(predict(chunked_loss(), job, example_target(), change).stage_peaks[0].holdings).as_mib(),
              before.as_mib() - 400, 0.01);
  job.measured["chunked_loss"] = job.stage_peaks;
  job.measured["chunked_loss"][0].holdings.activations -= Bytes::mib(100);
  EXPECT_NEAR(sum(predict(chunked_loss(), job, example_target(), change).stage_peaks[0].holdings).as_mib(),
              before.as_mib() - 100, 0.01);
  job.wide_loss->features = 768;
  const auto options = chunked_loss().options(job, example_target());
  ASSERT_EQ(options.size(), 2u);
  EXPECT_EQ(model::find_integer(options[1], "linear"), 50304);
  const auto with_layer = predict(chunked_loss(), job, example_target(), options[1]);
  EXPECT_NEAR(total_macs(with_layer.work) - total_macs(job.work), 8192.0 * 50304 * 768, 1e6);
  EXPECT_EQ(chunked_loss().describe(options[1]), "last layer and loss in chunks");
  job.measured[measured_key(options[1])] = job.stage_peaks;
  EXPECT_EQ(predict(chunked_loss(), job, example_target(), options[0]).measured_with, "chunked_loss");
  EXPECT_EQ(predict(chunked_loss(), job, example_target(), options[1]).measured_with, "chunked_loss:linear")
      << "a run of its own";
  job.wide_loss->is_log = true;
  EXPECT_EQ(chunked_loss().options(job, example_target()), std::vector{options[1]});
  EXPECT_EQ(chunked_loss().find_all_measurable(job, example_target()), std::vector{options[1]});
  job.wide_loss->features = 0;
  EXPECT_EQ(chunked_loss().applies_to(job, example_target()).standing, Standing::kNotPossible);
  job.wide_loss->bytes = Bytes::mib(1);
  EXPECT_EQ(chunked_loss().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(Attention, frees_the_scores_that_it_keeps_as_a_run_showed_it) {
  model::Job job = job_with_everything_applicable();
  const auto change = attention().options(job, example_target())[0];
  const Bytes before = job.stage_peaks[0].holdings.activations;
  EXPECT_NEAR(predict(attention(), job, example_target(), change).stage_peaks[0].holdings.activations.as_mib(),
              before.as_mib() - 300, 0.01);
  job.measured["attention"] = job.stage_peaks;
  job.measured["attention"][0].holdings.activations = scaled(before, 0.5);
  const Forecast forecast = predict(attention(), job, example_target(), change);
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, scaled(before, 0.5));
  EXPECT_EQ(forecast.measured_with, "attention");
  EXPECT_EQ(forecast.effect, Effect::kRounding);
}

TEST(Attention, says_with_figures_where_it_does_not_help) {
  model::Job job = job_with_everything_applicable();
  const auto reason_of = [&] { return attention().applies_to(job, example_target()).reason; };
  job.attention = model::AttentionFacts{Bytes(0), 0, Bytes(0), Bytes(0), Bytes::mib(700)};
  EXPECT_EQ(attention().applies_to(job, example_target()).standing, Standing::kInForce);
  EXPECT_EQ(reason_of(), "its attention runs in fused kernels already, which keep nothing of 700 MiB of scores");
  job.attention->scores = Bytes::mib(1);
  EXPECT_EQ(reason_of(), "scores that its attention keeps are 1.0 MiB alone");
  job.attention->scores = Bytes::mib(300);
  job.attention->calls = 12;
  EXPECT_TRUE(reason_of().starts_with("the script's own lines multiply queries and keys, and keep 300 MiB of scores"))
      << reason_of();
  job.attention->eager = "GPT2Model";
  EXPECT_EQ(attention().applies_to(job, example_target()).standing, Standing::kApplicable);
  job.attention->why_not = "GPT2Model has eager attention only";
  EXPECT_EQ(reason_of(), "GPT2Model has eager attention only");
  job.attention.reset();
  EXPECT_EQ(attention().applies_to(job, example_target()).standing, Standing::kNotPossible);
}

TEST(ResizeInput, scales_images_with_the_area_and_says_that_accuracy_changes) {
  const auto options = resize_input().options(example_job(), example_target());
  const Forecast forecast = predict(resize_input(), example_job(), example_target(), options.back());
  EXPECT_EQ(forecast.stage_peaks[0].holdings.activations, Bytes::mib(650));
  EXPECT_EQ(forecast.effect, Effect::kInput);
  model::Job tabular = example_job();
  tabular.loaders[0].shapes = {{8}};
  EXPECT_EQ(resize_input().applies_to(tabular, example_target()).standing, Standing::kNotPossible);
}

}  // namespace
}  // namespace vramfit::plan
