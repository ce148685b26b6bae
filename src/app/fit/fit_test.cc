#include "app/fit/fit.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/fit/equivalence.h"
#include "app/fit/plan_row.h"
#include "app/fit/prover.h"
#include "app/fit/summary.h"
#include "base/file.h"
#include "facts/recordings.h"
#include "facts/testing/recording_script.h"
#include "ingest/plan_file.h"
#include "ingest/testing/add_note.h"
#include "verify/fit.h"

namespace vramfit::app {
namespace {

namespace fs = std::filesystem;
using base::Bytes;
using facts::RecordingScript;
using model::FitVerdict;

// A job of 2500 MiB in training (2000 of activations in 10 equal blocks) and 700 MiB in evaluation, on any card.
class FakeRunner final : public job::Runner {
 public:
  // Only a number: nothing runs before it is asked for.
  job::RunRequest start(job::RunRequest request) override {
    request.begun = ++last_begun;
    if (request.first_steps && !request.plan) compared_after = runs;
    begun_after.push_back(runs);
    return request;
  }
  base::Result<job::RunOutcome> run(const job::RunRequest& request, base::ProgressSink&) override {
    ++runs;
    if (request.begun > 0) asked_for.push_back(request.begun);
    model::Plan plan;
    if (request.plan) plan = *ingest::read_plan(*request.plan);
    if (request.obstacles) {
      for (const model::Change& change : plan.changes) measured.push_back(change.technique);
    }
    job::RunOutcome outcome =
        answer(request, needed(plan), model::find_change(plan, "autocast") != nullptr ? 120 : 200);
    for (const model::Change& change : plan.changes) {
      const bool refuses = change.technique == refused;
      add_note(outcome, {{"kind", refuses ? "plan_refused" : "plan_applied"}, {"id", change.technique}, {"text", "x"}});
      if (refuses) outcome.result.plan_refused.push_back(change.technique + ": x");
    }
    if (request.first_steps) add_first_steps(outcome, plan);
    if (request.plan && request.steps == "auto" && model::find_change(plan, runs_out_late) != nullptr) {
      outcome.result.verdict = model::Verdict::kOutOfMemory;
      outcome.result.oom = model::Oom{Bytes::mib(64), "CUDA out of memory", "test", false, {}};
    }
    outcome.result.interrupted = runs == interrupt_at;
    outcome.result.waited_seconds = waited_seconds;
    outcome.result.wall_seconds = wall_seconds;
    return outcome;
  }

  int runs = 0;
  int last_begun = 0;
  std::vector<int> begun_after;       // so many runs each
  std::vector<int> asked_for;         // of those that had begun
  std::vector<std::string> measured;  // techniques
  std::optional<int> compared_after;  // its first half began after so many runs
  int interrupt_at = -1;
  double wall_seconds = 0;    // that a run says it took
  double waited_seconds = 0;  // of these, for a processor
  std::string runs_out_late;  // a technique that runs out after its training loop
  bool breaks = false;
  std::string refused;
  std::string trains_else;  // a technique with which the weights become others
  bool is_slow = false;     // no comparison comes to its end
  bool grows = false;       // by 1 MiB a step, which would fill the card that it runs on at step 1,000,000

 private:
  void add_first_steps(job::RunOutcome& outcome, const model::Plan& plan) const {
    outcome.result.timed_out = is_slow;
    const double update = model::find_change(plan, trains_else) != nullptr ? 3 : 1;
    for (int step = 1; step <= 4; ++step) {
      add_note(outcome, {{"kind", "training_step"}, {"optimizer", 0}, {"step", step}, {"samples", 8 * step}});
    }
    add_note(outcome, {{"kind", "training_tensor"}, {"what", "update"}, {"index", "0.0"}, {"values", {update}}});
    add_note(outcome, {{"kind", "training_end"}, {"steps", 4}});
  }

  static Bytes needed(const model::Plan& plan) {
    double activations = 2000;
    for (const model::Change& change : plan.changes) {
      if (change.technique == "micro_batch" && model::find_integer(change, "accumulate").value_or(1) > 1) {
        activations *= static_cast<double>(*model::find_integer(change, "micro_batch")) / 8;
      }
      if (change.technique == "autocast") activations *= 0.6;
      if (change.technique == "checkpoint") {
        activations *= 1 - 0.08 * static_cast<double>(model::find_names(change, "modules").size());
      }
    }
    return Bytes::mib(500 + static_cast<std::int64_t>(activations));
  }

  static Bytes limit_of(const job::CardChoice& card) { return card.total.value_or(card.card.memory); }

  // Every card holds the same; the last one is told of in the recording.
  job::RunOutcome answer(const job::RunRequest& request, Bytes needed, std::int64_t of_layer) const {
    RecordingScript script;
    script.on(static_cast<std::uint8_t>(request.cards.size() - 1));
    describe(script, of_layer);
    job::RunOutcome outcome;
    outcome.facts = facts::gather(script.take());
    model::RunResult& result = outcome.result;
    const Bytes limit = limit_of(*std::ranges::min_element(request.cards, {}, limit_of));
    const bool fits = needed <= limit;
    result.verdict = fits ? model::Verdict::kFits : model::Verdict::kOutOfMemory;
    if (breaks) {
      result.verdict = model::Verdict::kFailed;
      result.reason = "No module named dataset";
    }
    const Bytes peak = std::min(needed, limit);
    const model::Peaks peaks{peak - Bytes::mib(300), peak - Bytes::mib(300), peak};
    for (std::size_t i = 0; i < request.cards.size(); ++i) {
      model::DeviceResult device;
      device.name = "Example";
      device.index = static_cast<int>(i);
      device.total = limit_of(request.cards[i]);
      device.peaks = peaks;
      result.devices.push_back(device);
      result.phases.push_back({"train", device.index, peaks, 3});
      if (!fits) continue;
      result.phases.push_back({"validate", device.index, {Bytes::mib(400), Bytes::mib(400), Bytes::mib(700)}, 3});
    }
    result.peak_phase = "train";
    if (grows) {
      model::Growth growth;
      growth.phase = "train";
      growth.per_step = Bytes::mib(1);
      growth.steps = 12;
      growth.runs_out_at = 1'000'000;
      result.warnings = {{"memory rises, the card is full soon", 1, model::RemarkKind::kGrowth}, {"another", 1}};
      result.evidence.growth.push_back(growth);
    }
    if (!fits && !breaks) result.oom = model::Oom{Bytes::mib(64), "CUDA out of memory", "train", false, {}};
    return outcome;
  }

  static void describe(RecordingScript& script, std::int64_t of_layer) {
    script.note(R"({"kind":"loader","ordinal":0,"batch_size":8,"batches":9,"phase":"train","shapes":[[8,3,64,64]]})");
    script.note(R"({"kind":"root_module","class_name":"Net","parameters":1,"parameter_bytes":104857600})");
    script.at(VF_PHASE_LOAD, VF_STAGE_OTHER);
    script.tag(script.alloc(200), VF_OWNER_WEIGHT);
    for (int i = 0; i < 10; ++i) {
      const std::string name = "layers." + std::to_string(i);
      script.note((R"({"kind":"module_memory","name":")" + name +
                   R"(","class_name":"L","saved_bytes":209715200,"output_bytes":20971520})")
                      .c_str());
      script.at(VF_PHASE_TRAIN, VF_STAGE_FORWARD, name);
      script.alloc(of_layer);
      script.matmul(1000000000, 1000, VF_DTYPE_F32);
    }
    script.at(VF_PHASE_TRAIN, VF_STAGE_OPTIMIZER);
    script.launches(100);
    script.step();
  }

  static void add_note(job::RunOutcome& outcome, const nlohmann::json& fields) {
    auto recordings = facts::recordings_of(*outcome.facts);
    ingest::testing::add_note(recordings[0], fields);
    outcome.facts = facts::gather(std::move(recordings));
  }
};

class FitTest : public ::testing::Test {
 protected:
  FitTest() : folder_(fs::temp_directory_path() / ("vramfit_fit_test." + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    model::Card card;
    card.name = "Example";
    card.memory = Bytes::mib(1536);
    card.capability = {8, 6};
    request.run.cards = {{card, std::nullopt}};
    request.run.command = {"python", "my train.py", "--batch-size", "8"};
    request.gpu = "example 86";
    request.plan_out = folder_ / "plan.json";
  }
  ~FitTest() override { fs::remove_all(folder_); }

  base::Result<model::FitResult> run() {
    auto result = fit(request, runner, base::silent_progress(), base::steady_clock());
    if (result) {
      for (const std::string& wrong : verify::check_fit(*result)) ADD_FAILURE() << wrong;
    }
    return result;
  }

  FitRequest request;
  FakeRunner runner;
  fs::path folder_;
};

TEST_F(FitTest, ends_in_a_proven_plan_and_the_command_that_applies_it) {
  const auto result = run();
  ASSERT_TRUE(result) << result.error().what;
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  EXPECT_TRUE(result->cheapest_known);
  EXPECT_LE(result->plans.front().proven->device, Bytes::mib(1536));
  EXPECT_TRUE(result->plans.front().reason.empty());
  const auto written = ingest::read_plan(request.plan_out);
  ASSERT_TRUE(written);
  EXPECT_EQ(*written, result->plans.front().plan);
  EXPECT_EQ(result->train_command,
            "vramfit run --gpu real --plan " + request.plan_out.string() + " -- python 'my train.py' --batch-size 8");
  EXPECT_TRUE(result->prove_command.starts_with("vramfit run --gpu 'example 86' --plan "));
  EXPECT_EQ(result->patch_command, "vramfit patch " + request.plan_out.string() +
                                       " --gpu 'example 86' -- python 'my train.py' --batch-size 8");
}

TEST_F(FitTest, the_step_at_which_the_lent_card_would_be_full_is_not_told) {
  runner.grows = true;
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->free_run->evidence.growth.size(), 1U);
  EXPECT_FALSE(result->free_run->evidence.growth.front().runs_out_at) << "the job does not fit to begin with";
  ASSERT_EQ(result->free_run->warnings.size(), 2U) << "told anew, whatever words it was told in";
  EXPECT_EQ(result->free_run->warnings.front().text.find("is full"), std::string::npos);
}

TEST_F(FitTest, of_several_cards_the_one_that_is_shortest_is_planned_for) {
  request.run.cards.push_back(request.run.cards[0]);
  request.run.cards[0].total = Bytes::gib(8);
  const auto result = run();
  ASSERT_TRUE(result) << result.error().what;
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  EXPECT_EQ(result->card_index, 1);
  EXPECT_EQ(result->cards, 2);
  EXPECT_EQ(result->limit, Bytes::mib(1536));
  EXPECT_LE(result->plans.front().proven->device, Bytes::mib(1536));
}

TEST_F(FitTest, the_run_with_plenty_begins_beside_the_job_as_it_is) {
  ASSERT_TRUE(run());
  ASSERT_FALSE(runner.begun_after.empty());
  EXPECT_EQ(runner.begun_after.front(), 0);
  ASSERT_FALSE(runner.asked_for.empty());
  EXPECT_EQ(runner.asked_for.front(), 1);
}

TEST_F(FitTest, measuring_runs_begin_beside_one_another) {
  request.run.cards[0].total = Bytes::mib(520);
  request.goal = model::FitGoal::kMinMemory;  // whatever a plan takes from the training
  ASSERT_TRUE(run());
  ASSERT_GE(runner.begun_after.size(), 3u);
  EXPECT_EQ(runner.begun_after[1], runner.begun_after[2]) << "the second one of them before the first has ended";
  for (std::size_t i = 0; i < runner.asked_for.size(); ++i) EXPECT_EQ(runner.asked_for[i], static_cast<int>(i + 1));
}

TEST_F(FitTest, techniques_that_take_more_from_the_training_are_measured_after_those_that_take_less) {
  request.run.cards[0].total = Bytes::mib(520);
  request.deny = {"checkpoint"};  // which asks for a step in host memory first
  ASSERT_TRUE(run());
  const auto place_of = [&](const char* id) { return std::ranges::find(runner.measured, id); };
  ASSERT_NE(place_of("resize_input"), runner.measured.end());
  EXPECT_LT(place_of("autocast"), place_of("offload_activations")) << "which makes a step more than twice as slow";
  EXPECT_LT(place_of("offload_activations"), place_of("resize_input"));
}

TEST_F(FitTest, one_step_in_host_memory_shows_last_uses_to_what_runs_again_before_its_plans_are_run) {
  request.only = {"checkpoint"};  // the job's recording has no evaluation
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  EXPECT_EQ(runner.measured, std::vector<std::string>{"offload_activations"});
}

TEST_F(FitTest, last_uses_are_shown_also_where_another_plan_of_the_rank_is_foreseen_to_fit) {
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  ASSERT_EQ(result->plans.front().effect, "same");
  EXPECT_EQ(runner.measured, std::vector<std::string>{"offload_activations"});
}

TEST_F(FitTest, a_run_that_two_techniques_ask_for_is_made_once) {
  request.run.cards[0].total = Bytes::mib(520);
  ASSERT_TRUE(run());
  EXPECT_EQ(std::ranges::count(runner.measured, "offload_activations"), 1);
}

TEST_F(FitTest, what_keeps_activations_out_of_host_memory_keeps_no_module_from_running_again) {
  request.only = {"checkpoint"};
  runner.refused = "offload_activations";
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
}

TEST_F(FitTest, nothing_is_measured_that_could_not_come_before_the_answer) {
  request.deny = {"checkpoint", "micro_batch", "offload_activations"};
  request.run.cards[0].total = Bytes::mib(1800);
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  EXPECT_EQ(result->plans.front().effect, "precision");
  EXPECT_NE(std::ranges::find(runner.measured, "autocast"), runner.measured.end());
  EXPECT_EQ(std::ranges::count(runner.measured, "resize_input"), 0);
}

TEST_F(FitTest, a_job_that_fits_is_left_alone) {
  request.run.cards[0].total = Bytes::gib(8);
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kFitsAlready);
  EXPECT_EQ(runner.runs, 1);
  EXPECT_FALSE(fs::exists(request.plan_out));
}

TEST_F(FitTest, says_when_nothing_fits_and_why_each_plan_lost) {
  request.run.cards[0].total = Bytes::mib(520);
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kNothingFits);
  ASSERT_FALSE(result->lost.empty());
  for (const auto& row : result->lost) EXPECT_FALSE(row.reason.empty()) << row.plan.name;
  EXPECT_FALSE(fs::exists(request.plan_out));
}

TEST_F(FitTest, a_job_that_fails_for_another_reason_is_not_searched) {
  runner.breaks = true;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kJobFailed);
  EXPECT_EQ(result->reason, "No module named dataset");
}

TEST_F(FitTest, an_interrupt_keeps_and_writes_what_was_proven) {
  ASSERT_TRUE(run());
  const int whole = runner.runs;
  runner = {};
  runner.interrupt_at = whole - 1;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kPlanFits);
  EXPECT_FALSE(result->cheapest_known && result->plans.size() < 2);
  EXPECT_TRUE(fs::exists(request.plan_out));
}

TEST_F(FitTest, a_refusal_is_reported_and_the_next_best_plan_taken) {
  const auto before = run();
  ASSERT_TRUE(before && !before->plans.empty());
  const std::string first = before->plans.front().plan.changes.front().technique;
  runner = {};
  runner.refused = first;
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits);
  EXPECT_EQ(model::find_change(result->plans.front().plan, first), nullptr);
  EXPECT_TRUE(std::ranges::any_of(result->lost, [&](const model::PlanRow& row) {
    return row.standing == model::PlanStanding::kRefused && row.reason.starts_with("refused: " + first);
  }));
}

TEST_F(FitTest, denied_techniques_are_listed_and_not_used) {
  request.deny = {"autocast", "checkpoint"};
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits);
  EXPECT_EQ(model::find_change(result->plans.front().plan, "autocast"), nullptr);
  EXPECT_EQ(std::ranges::count(result->techniques, "denied", &model::TechniqueRow::standing), 2);
}

TEST_F(FitTest, what_acts_in_another_phase_is_left_alone) {
  request.phases = {"validate"};
  const auto result = run();
  ASSERT_TRUE(result);
  const auto row_of = [&](std::string_view id) {
    return *std::ranges::find(result->techniques, id, &model::TechniqueRow::id);
  };
  EXPECT_EQ(row_of("checkpoint").reason, "--phase: it changes nothing in validate");
  EXPECT_NE(row_of("validation_batch").standing, "denied");
  EXPECT_NE(row_of("resize").standing, "denied");
  EXPECT_NE(result->verdict, FitVerdict::kPlanFits) << "it is the training that does not fit";
}

TEST_F(FitTest, a_phase_without_techniques_is_a_usage_error) {
  request.phases = {"save"};
  const auto result = run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().where, "--phase");
}

TEST_F(FitTest, an_unknown_technique_is_a_usage_error_that_lists_the_known) {
  request.deny = {"magic"};
  const auto result = run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, base::ErrorCode::kUsage);
  EXPECT_NE(result.error().remedy.find("micro_batch"), std::string::npos);
  EXPECT_EQ(runner.runs, 0);
}

TEST_F(FitTest, a_mistyped_technique_is_told_which_was_meant) {
  request.only = {"microbatch"};
  const auto result = run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().what, "there is no technique \"microbatch\"; did you mean micro_batch?");
}

TEST_F(FitTest, a_file_that_is_no_plan_is_never_overwritten) {
  ASSERT_TRUE(base::write_file(request.plan_out, "my notes"));
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kPlanFits);
  EXPECT_TRUE(result->plan_file.empty());
  EXPECT_EQ(*base::read_file(request.plan_out), "my notes");
}

TEST_F(FitTest, no_time_at_all_is_out_of_time_and_not_nothing_fits) {
  request.budget_seconds = 1e-9;
  request.budget_is_firm = true;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kOutOfTime);
}

TEST_F(FitTest, a_slow_machine_gets_more_time_unless_the_user_said_how_much) {
  request.budget_seconds = 1e-9;
  runner.wall_seconds = 100;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kPlanFits);
  EXPECT_GE(result->budget_seconds, 1000);
}

TEST_F(FitTest, what_a_loaded_machine_takes_from_the_runs_is_not_taken_from_the_search) {
  request.budget_seconds = 60;
  runner.wall_seconds = 100;
  runner.waited_seconds = 80;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kPlanFits);
  EXPECT_TRUE(result->cheapest_known);
}

TEST_F(FitTest, a_best_plan_that_runs_out_after_its_loop_makes_way_for_one_that_was_not_run_before) {
  const auto before = run();
  ASSERT_TRUE(before && !before->plans.empty());
  runner = {};
  runner.runs_out_late = before->plans.front().plan.changes.front().technique;
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  EXPECT_EQ(model::find_change(result->plans.front().plan, runner.runs_out_late), nullptr);
  EXPECT_EQ(result->runs, runner.runs);
  EXPECT_TRUE(std::ranges::any_of(result->lost, [&](const model::PlanRow& row) {
    return row.plan == before->plans.front().plan && row.reason.find("ran out in test") != std::string::npos;
  }));
}

TEST_F(FitTest, other_kinds_of_plan_are_foreseen_and_run_only_where_the_search_was_given_its_time) {
  const auto quick = run();
  ASSERT_TRUE(quick);
  const int few = runner.runs;
  EXPECT_FALSE(quick->foreseen.empty());
  for (const model::PlanRow& row : quick->foreseen) {
    EXPECT_EQ(row.standing, model::PlanStanding::kNotRun);
    EXPECT_FALSE(row.proven);
  }
  runner = {};
  request.budget_is_firm = true;
  const auto whole = run();
  ASSERT_TRUE(whole);
  EXPECT_TRUE(whole->foreseen.empty());
  EXPECT_GT(whole->plans.size(), quick->plans.size());
  EXPECT_GT(runner.runs, few);
}

TEST_F(FitTest, the_best_plan_is_compared_with_the_job_as_it_is) {
  request.only = {"micro_batch"};
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  ASSERT_TRUE(result->plans.front().equivalence);
  EXPECT_EQ(result->plans.front().equivalence->text, "trains the same: 4 steps compared, weights equal");
  EXPECT_EQ(result->runs, runner.runs);
  for (const auto& row : result->plans) EXPECT_TRUE(row.equivalence) << row.plan.name;
}

TEST_F(FitTest, the_comparison_begins_beside_the_trial_of_a_plan_that_is_foreseen_to_fit) {
  request.only = {"micro_batch"};
  ASSERT_TRUE(run());
  ASSERT_TRUE(runner.compared_after);
  EXPECT_EQ(*runner.compared_after, 2) << "the job as it is and with plenty";
  runner = {};
  request.verify = false;
  ASSERT_TRUE(run());
  EXPECT_FALSE(runner.compared_after);
}

TEST_F(FitTest, a_plan_that_trains_something_else_makes_way_with_all_of_its_kind) {
  runner.trains_else = "micro_batch";
  request.deny = {"autocast"};
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  for (const auto& row : result->plans) EXPECT_EQ(model::find_change(row.plan, "micro_batch"), nullptr);
  const auto lost = std::ranges::find(result->lost, model::PlanStanding::kTrainsElse, &model::PlanRow::standing);
  ASSERT_NE(lost, result->lost.end());
  EXPECT_TRUE(lost->reason.starts_with("trains something else: the update of the weights differs by 200 %"))
      << lost->reason;
}

TEST_F(FitTest, where_nothing_else_is_left_the_rest_is_searched_without_what_trains_something_else) {
  runner.trains_else = "micro_batch";
  request.only = {"micro_batch", "checkpoint"};
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  EXPECT_NE(model::find_change(result->plans.front().plan, "checkpoint"), nullptr);
}

TEST_F(FitTest, where_all_that_fits_trains_something_else_nothing_is_proven) {
  runner.trains_else = "micro_batch";
  request.only = {"micro_batch"};
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->verdict, FitVerdict::kNotProven);
  EXPECT_NE(result->reason.find("trains something else"), std::string::npos) << result->reason;
  EXPECT_FALSE(fs::exists(request.plan_out));
}

TEST_F(FitTest, a_comparison_that_takes_too_long_is_said_and_the_plan_stays) {
  runner.is_slow = true;
  request.only = {"micro_batch"};
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  EXPECT_EQ(result->plans.front().equivalence->sameness, model::Sameness::kNotChecked);
  EXPECT_NE(result->plans.front().equivalence->text.find("takes longer than"), std::string::npos);
}

TEST_F(FitTest, without_a_comparison_that_is_said) {
  request.verify = false;
  runner.trains_else = "micro_batch";
  request.only = {"micro_batch"};
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits);
  EXPECT_EQ(result->plans.front().equivalence->text, "not compared: --no-verify");
}

TEST_F(FitTest, a_plan_that_is_exact_by_the_way_it_is_made_needs_no_comparison) {
  runner.is_slow = true;
  request.only = {"checkpoint"};
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->verdict, FitVerdict::kPlanFits) << result->reason;
  EXPECT_EQ(result->plans.front().equivalence->sameness, model::Sameness::kEqual);
  EXPECT_FALSE(result->plans.front().equivalence->checked);
}

TEST(ComparedPart, leaves_out_smaller_batches_of_an_evaluation_whose_outputs_are_compared) {
  const model::Change batch{"micro_batch", {{"micro_batch", std::int64_t{1}}, {"accumulate", std::int64_t{1}}}};
  const model::Change tiles{"tiles", {{"per_side", std::int64_t{4}}}};
  EXPECT_EQ(compared_part({"both", {batch, tiles}}).changes, std::vector{tiles});
  EXPECT_EQ(compared_part({"batch", {batch}}).changes, std::vector{batch});
  model::PlanRow row;
  row.plan = {"both", {batch, tiles}};
  row.effect = "same";
  EXPECT_FALSE(find_known_equivalence(row)) << "it has to be compared";
}

TEST(CommonWall, is_what_stopped_every_plan_alike) {
  const auto row = [](model::PlanStanding standing, const char* reason) {
    model::PlanRow made;
    made.standing = standing;
    made.reason = reason;
    return made;
  };
  model::FitResult result;
  result.lost = {row(model::PlanStanding::kDoesNotFit, "ran out in train at train.py:12"),
                 row(model::PlanStanding::kBroke, "the script broke")};
  EXPECT_EQ(common_wall(result), "") << "one alone says nothing of the others";
  result.lost.push_back(row(model::PlanStanding::kDoesNotFit, "ran out in train at train.py:12"));
  EXPECT_EQ(common_wall(result), "each of the 2 that were run and did not fit ran out in train at train.py:12");
  result.lost.push_back(row(model::PlanStanding::kDoesNotFit, "ran out in validate"));
  EXPECT_EQ(common_wall(result), "");
}

}  // namespace
}  // namespace vramfit::app
