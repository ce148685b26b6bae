#include "app/equivalence/verifier.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "app/verify.h"
#include "facts/recordings.h"
#include "ingest/plan_file.h"
#include "ingest/testing/add_note.h"

namespace vramfit::app {

namespace {

namespace fs = std::filesystem;
using model::Sameness;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

model::Plan micro_batch_of(std::int64_t size, std::int64_t accumulate) {
  return {"micro-batch", {{"micro_batch", {{"micro_batch", size}, {"accumulate", accumulate}}}}};
}

// Trains one weight; `update` is what becomes of it with a plan.
class FakeVerifyRunner final : public job::Runner {
 public:
  base::Result<job::RunOutcome> run(const job::RunRequest& request, base::ProgressSink&) override {
    requests.push_back(request);
    if (request.plan) plans.push_back(*ingest::read_plan(*request.plan));
    job::RunOutcome outcome;
    outcome.result.verdict = model::Verdict::kFits;
    outcome.result.timed_out = times_out;
    outcome.result.interrupted = is_interrupted;
    outcome.result.wall_seconds = 3;
    if (request.plan && !refusal.empty()) outcome.result.plan_refused = {refusal};
    const bool is_cut = is_too_small_a_cut && request.first_steps->side > 0;
    if (is_cut || (request.plan ? fails_with_plan : fails)) {
      outcome.result.exit_code = 1;
      outcome.result.error = model::ScriptError{};
      outcome.result.error->type = "ValueError";
      outcome.result.error->message = "too small";
      if (is_cut) outcome.facts = facts::gather({recording_of_cut_images()});
      return outcome;
    }
    const bool reads_otherwise = request.plan && request.first_steps->samples > 0 && is_a_trainers;
    add_notes(outcome, request.first_steps->side > 0,
              reads_otherwise ? 3.0
              : request.plan  ? update
                              : 1.0,
              reads_otherwise ? 4 : 8);
    return outcome;
  }

  job::RunRequest start(job::RunRequest request) override {
    request.begun = can_begin ? ++begun : 0;
    return request;
  }

  std::vector<job::RunRequest> requests;
  std::vector<model::Plan> plans;
  bool can_begin = true;
  int begun = 0;
  double update = 1;
  int most_steps = 4;
  bool times_out = false, is_interrupted = false, fails = false, fails_with_plan = false;
  bool is_too_small_a_cut = false;  // fewer pixels than it takes
  bool is_a_trainers = false;       // with a plan it gets other samples, unless it gets all
  std::string refusal;

 private:
  static model::Recording recording_of_cut_images() {
    model::Recording recording;
    ingest::testing::add_note(recording, {{"kind", "images_cut"}, {"height", 128}, {"width", 256}});
    return recording;
  }

  void add_notes(job::RunOutcome& outcome, bool is_cut, double moved, int samples) const {
    std::vector<model::Recording> recordings;
    recordings.push_back(is_cut ? recording_of_cut_images() : model::Recording{});
    const auto add = [&](const nlohmann::json& fields) { ingest::testing::add_note(recordings[0], fields); };
    for (int step = 1; step <= most_steps; ++step) {
      add({{"kind", "training_step"}, {"optimizer", 0}, {"step", step}, {"samples", samples * step}});
    }
    add({{"kind", "training_tensor"}, {"what", "gradient"}, {"index", "0.0"}, {"values", {1.0}}});
    add({{"kind", "training_tensor"}, {"what", "update"}, {"index", "0.0"}, {"values", {moved}}});
    add({{"kind", "training_end"}, {"steps", most_steps}});
    outcome.facts = facts::gather(std::move(recordings));
  }
};

class VerifierTest : public ::testing::Test {
 protected:
  VerifierTest() : folder_(fs::temp_directory_path() / ("vramfit_verify_test." + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    model::Card card;
    card.memory = base::Bytes::mib(1536);
    request_.cards = {{card, std::nullopt}};
    request_.command = {"python", "train.py"};
    request_.retry.tracked_values = true;
  }
  ~VerifierTest() override { fs::remove_all(folder_); }

  base::Result<Verified> compare(const model::Plan& plan, double seconds = kNoLimit) {
    if (!verifier_) verifier_.emplace(request_, folder_, runner_, base::steady_clock());
    return verifier_->compare(plan, seconds, [](std::string_view) {});
  }

  FakeVerifyRunner runner_;
  job::RunRequest request_;
  fs::path folder_;
  std::optional<Verifier> verifier_;
};

TEST_F(VerifierTest, two_small_runs_with_values_and_plenty_of_memory) {
  const auto found = compare(micro_batch_of(16, 8));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equivalence.sameness, Sameness::kEqual) << found->equivalence.text;
  ASSERT_EQ(runner_.requests.size(), 2U);
  for (const job::RunRequest& request : runner_.requests) {
    EXPECT_EQ(request.values, job::Values::kCpu);
    EXPECT_FALSE(request.retry.tracked_values);
    EXPECT_EQ(request.first_steps, (job::FirstSteps{4, 8, 2, 0, 0, 16}));
    EXPECT_GE(*request.cards[0].total, base::Bytes::gib(512));
  }
  EXPECT_FALSE(runner_.requests[0].plan);
  EXPECT_EQ(runner_.plans[0].changes, micro_batch_of(2, 4).changes);
}

model::Plan checkpoint() { return {"checkpoint", {{"checkpoint", {{"keep", std::string("products")}}}}}; }

TEST_F(VerifierTest, few_pixels_of_each_image_are_compared_and_told) {
  const auto found = compare(checkpoint());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equivalence.sameness, Sameness::kEqual);
  EXPECT_TRUE(found->equivalence.text.ends_with("(over 128 x 256 pixels of each image)")) << found->equivalence.text;
  EXPECT_EQ(runner_.requests.size(), 2U);
}

TEST_F(VerifierTest, a_network_that_takes_one_size_alone_gets_whole_images) {
  runner_.is_too_small_a_cut = true;
  const auto found = compare(checkpoint());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equivalence.sameness, Sameness::kEqual) << found->equivalence.text;
  EXPECT_FALSE(found->equivalence.text.contains("pixels")) << found->equivalence.text;
  ASSERT_EQ(runner_.requests.size(), 3U);
  EXPECT_EQ(runner_.requests.back().first_steps->side, 0);
  EXPECT_EQ(runner_.requests.back().first_steps->samples, 2) << "still few of them";
}

TEST_F(VerifierTest, parts_of_a_batch_and_tiles_are_compared_over_whole_images) {
  ASSERT_TRUE(compare(micro_batch_of(16, 8)));
  ASSERT_TRUE(compare({"tiles", {{"tiles", {{"per_side", std::int64_t{4}}}}}}));
  ASSERT_TRUE(compare({"parts", {{"split_forward", {{"parts", std::int64_t{4}}}}}}));
  for (const job::RunRequest& request : runner_.requests) EXPECT_EQ(request.first_steps->side, 0);
}

TEST_F(VerifierTest, a_plan_for_an_evaluation_waits_for_its_outputs) {
  ASSERT_TRUE(compare({"half", {{"half_evaluation", {{"dtype", std::string("float16")}}}}}));
  EXPECT_EQ(runner_.requests[0].first_steps, (job::FirstSteps{4, 2, 0, 0, 3, 16, 128}));
}

TEST_F(VerifierTest, the_job_as_it_is_runs_once_for_plans_of_one_size) {
  ASSERT_TRUE(compare(micro_batch_of(16, 8)));
  ASSERT_TRUE(compare(micro_batch_of(4, 32)));
  EXPECT_EQ(runner_.requests.size(), 3U);
  ASSERT_TRUE(compare(micro_batch_of(1, 128)));
  EXPECT_EQ(runner_.requests.size(), 5U);
}

TEST_F(VerifierTest, both_runs_may_begin_before_they_are_compared) {
  verifier_.emplace(request_, folder_, runner_, base::steady_clock());
  verifier_->begin(micro_batch_of(16, 8), 60);
  verifier_->begin(micro_batch_of(16, 8), 60);
  EXPECT_TRUE(runner_.requests.empty());
  EXPECT_EQ(runner_.begun, 2) << "without the plan and with it, once";
  ASSERT_TRUE(compare(micro_batch_of(16, 8), 60));
  ASSERT_EQ(runner_.requests.size(), 2U) << "none was run again";
  EXPECT_EQ(runner_.requests[0].begun, 1);
  EXPECT_EQ(runner_.requests[1].begun, 2);
}

TEST_F(VerifierTest, where_the_job_as_it_is_takes_fewer_steps_the_plan_is_run_once_more) {
  verifier_.emplace(request_, folder_, runner_, base::steady_clock());
  runner_.most_steps = 2;
  verifier_->begin(micro_batch_of(16, 8), 60);
  ASSERT_TRUE(compare(micro_batch_of(16, 8), 60));
  ASSERT_EQ(runner_.requests.size(), 2U);
  EXPECT_EQ(runner_.requests[0].begun, 1);
  EXPECT_EQ(runner_.requests[1].begun, 0) << "what began was of more steps";
  EXPECT_EQ(runner_.requests[1].first_steps->steps, 2);
}

TEST_F(VerifierTest, the_steps_with_the_plan_may_begin_before_they_are_compared) {
  verifier_.emplace(request_, folder_, runner_, base::steady_clock());
  verifier_->begin_with(micro_batch_of(16, 8), 60, [](std::string_view) {});
  ASSERT_EQ(runner_.requests.size(), 1U) << "the job as it is tells how many steps";
  EXPECT_EQ(runner_.begun, 1);
  const auto found = compare(micro_batch_of(16, 8), 60);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equivalence.sameness, Sameness::kEqual) << found->equivalence.text;
  ASSERT_EQ(runner_.requests.size(), 2U);
  EXPECT_EQ(runner_.requests[1].begun, 1);
  EXPECT_EQ(runner_.plans[0].changes, micro_batch_of(2, 4).changes);
}

TEST_F(VerifierTest, steps_that_began_with_another_plan_are_not_taken_for_its) {
  verifier_.emplace(request_, folder_, runner_, base::steady_clock());
  const model::Plan checkpoint{"checkpoint", {{"checkpoint", {{"modules", std::vector<std::string>{"layer1"}}}}}};
  const model::Plan released{"released", {{"release_gradients", {}}}};
  verifier_->begin_with(checkpoint, 60, [](std::string_view) {});
  ASSERT_TRUE(compare(released, 60));
  ASSERT_EQ(runner_.requests.size(), 2U);
  EXPECT_EQ(runner_.requests[1].begun, 0);
  EXPECT_EQ(runner_.plans[0].changes, released.changes);
}

TEST_F(VerifierTest, a_job_that_fails_with_values_computed_fails_once_for_all_plans_of_one_size) {
  runner_.fails = true;
  ASSERT_TRUE(compare(micro_batch_of(16, 8)));
  const std::size_t runs = runner_.requests.size();
  ASSERT_TRUE(compare(micro_batch_of(16, 8)));
  EXPECT_EQ(runner_.requests.size(), runs);
}

TEST_F(VerifierTest, what_began_for_other_samples_is_not_taken_for_it) {
  verifier_.emplace(request_, folder_, runner_, base::steady_clock());
  verifier_->begin(micro_batch_of(1, 8), 60);
  ASSERT_TRUE(compare(micro_batch_of(16, 8), 60));
  ASSERT_EQ(runner_.requests.size(), 2U);
  EXPECT_EQ(runner_.requests[0].begun, 0);
  EXPECT_EQ(runner_.requests[0].first_steps->samples, 8);
}

TEST_F(VerifierTest, another_training_is_found) {
  runner_.update = 4;
  const auto found = compare(micro_batch_of(4, 2));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equivalence.sameness, Sameness::kOther);
  EXPECT_EQ(runner_.requests.size(), 2U) << "it saw the same samples: whole batches would tell nothing new";
}

TEST_F(VerifierTest, a_trainer_that_makes_its_batches_itself_is_compared_over_whole_ones) {
  runner_.is_a_trainers = true;
  const auto found = compare(micro_batch_of(4, 2));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equivalence.sameness, Sameness::kEqual) << found->equivalence.text;
  ASSERT_EQ(runner_.requests.size(), 4U);
  EXPECT_EQ(runner_.requests[3].first_steps, (job::FirstSteps{4, 0, 4}));
  EXPECT_EQ(runner_.plans[1].changes, micro_batch_of(4, 2).changes);
}

TEST_F(VerifierTest, a_limit_is_kept_and_told) {
  runner_.times_out = true;
  const auto found = compare(micro_batch_of(4, 2), 20);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equivalence.text,
            "not compared: the job as it is, with values computed: computing 4 steps on the CPU takes longer than "
            "10 s");
  ASSERT_EQ(runner_.requests.size(), 1U);
  EXPECT_LE(*runner_.requests[0].whole_seconds, 10);
}

TEST_F(VerifierTest, a_script_that_fails_over_values_is_not_compared) {
  runner_.fails = true;
  EXPECT_EQ(compare(micro_batch_of(4, 2))->equivalence.text,
            "not compared: the job as it is, with values computed: ValueError: too small");
  EXPECT_EQ(runner_.requests.size(), 2U) << "once with small batches, once with whole ones";
  verifier_.reset();
  runner_.fails = false;
  runner_.fails_with_plan = true;
  EXPECT_EQ(compare(micro_batch_of(4, 2))->equivalence.text,
            "not compared: with the plan, values computed: ValueError: too small");
}

TEST_F(VerifierTest, a_refusal_is_told_as_one) {
  runner_.refusal = "micro_batch: batches are drawn one by one";
  const auto found = compare(micro_batch_of(4, 2));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->refused);
  EXPECT_EQ(found->equivalence.text, "not compared: micro_batch: batches are drawn one by one");
}

TEST_F(VerifierTest, what_is_meant_to_train_otherwise_has_to_train_numbers) {
  const model::Plan smaller{"smaller", {{"resize_input", {{"scale", 0.5}}}}};
  runner_.update = 4;
  EXPECT_EQ(compare(smaller)->equivalence.text,
            "not compared: it is meant to train otherwise: inputs of another size; 4 steps with it move the weights, "
            "and no number is infinite or NaN (over 128 x 256 pixels of each image)");
  runner_.update = 0;
  EXPECT_EQ(compare(smaller)->equivalence.text,
            "trains something else: no weight moves in 4 steps (over 128 x 256 pixels of each image)");
  runner_.fails_with_plan = true;
  EXPECT_EQ(compare(smaller)->equivalence.text,
            "not compared: it is meant to train otherwise: inputs of another size; with the plan, values "
            "computed: ValueError: too small");
}

TEST_F(VerifierTest, an_interrupt_ends_it) {
  runner_.is_interrupted = true;
  const auto found = compare(micro_batch_of(4, 2));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, base::ErrorCode::kInterrupted);
}

TEST_F(VerifierTest, without_micro_batches_two_samples_are_enough) {
  ASSERT_TRUE(compare({"bf16", {{"autocast", {{"dtype", std::string("bfloat16")}}}}}));
  EXPECT_EQ(runner_.requests[1].first_steps, (job::FirstSteps{4, 2, 0, 0, 0, 16, 128}));
}

TEST_F(VerifierTest, without_a_plan_of_parts_batch_norms_get_as_many) {
  ASSERT_TRUE(compare({"parts", {{"split_forward", {{"parts", std::int64_t{8}}}}}}));
  ASSERT_EQ(runner_.requests.size(), 2U);
  EXPECT_EQ(runner_.requests[0].first_steps, (job::FirstSteps{4, 8, 0, 4, 0, 16})) << "four parts of two samples";
  EXPECT_EQ(runner_.requests[1].first_steps, (job::FirstSteps{4, 8, 0, 0, 0, 16})) << "the plan makes them";
}

TEST_F(VerifierTest, real_cards_and_plans_without_sense_are_usage_errors) {
  request_.plan = folder_ / "plan.json";
  const auto code = [&] {
    return verify(request_, runner_, base::silent_progress(), base::steady_clock()).error().code;
  };
  ASSERT_TRUE(ingest::write_plan(*request_.plan, {"magic", {{"magic", {}}}}));
  EXPECT_EQ(code(), base::ErrorCode::kUsage);
  ASSERT_TRUE(ingest::write_plan(*request_.plan, micro_batch_of(4, 2)));
  request_.real = true;
  EXPECT_EQ(code(), base::ErrorCode::kUsage);
  EXPECT_TRUE(runner_.requests.empty());
}

}  // namespace
}  // namespace vramfit::app
