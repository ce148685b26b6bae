#include "sweep/sweep.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "ingest/sweep_file.h"
#include "report/sweep_text.h"
#include "sweep/largest_search.h"
#include "sweep/slurm.h"
#include "sweep/variables.h"

namespace vramfit::sweep {
namespace {

namespace fs = std::filesystem;
using base::Bytes;
using model::SweepSpec;

TEST(SweepVariables, a_variable_is_a_name_and_its_values) {
  const auto crop = parse_variable("--crop-size=512,768");
  ASSERT_TRUE(crop);
  EXPECT_EQ(*crop, (model::SweepVariable{"--crop-size", {"512", "768"}}));
  const auto alloc = parse_variable("alloc=off;a:True,b:2");
  ASSERT_TRUE(alloc);
  EXPECT_EQ(alloc->values, (std::vector<std::string>{"off", "a:True,b:2"}));
  for (const char* bad : {"batch", "batch=", "=1,2", "batch=1,,2", "batch=1,1"})
    EXPECT_FALSE(parse_variable(bad)) << bad;
}

TEST(SweepVariables, a_goal_has_a_range) {
  EXPECT_EQ(parse_goal("batch=2..64"), (model::SweepGoal{"batch", 2, 64}));
  EXPECT_EQ(parse_goal("batch")->low, 1);
  for (const char* bad : {"", "batch=0", "batch=9..3", "batch=a..b"}) EXPECT_FALSE(parse_goal(bad)) << bad;
}

TEST(SweepVariables, combinations_change_the_last_variable_fastest) {
  const auto all = combine({{"a", {"1", "2"}}, {"b", {"x", "y"}}});
  EXPECT_EQ(all, (std::vector<std::vector<std::string>>{{"1", "x"}, {"1", "y"}, {"2", "x"}, {"2", "y"}}));
}

std::vector<std::string> command_with(const std::vector<std::string>& command, const std::string& name,
                                      const std::string& value) {
  const auto trial = build_trial({.gpus = {"g"}, .command = command, .variables = {{name, {value}}}}, {value});
  EXPECT_TRUE(trial) << to_string(trial.error());
  return trial ? trial->command : std::vector<std::string>{};
}

using Words = std::vector<std::string>;

TEST(SweepVariables, an_option_is_replaced_glued_or_appended) {
  EXPECT_EQ(command_with({"t.py", "--size", "1", "--x"}, "--size", "2"), (Words{"t.py", "--size", "2", "--x"}));
  EXPECT_EQ(command_with({"t.py", "--size=1", "--x"}, "--size", "2"), (Words{"t.py", "--size=2", "--x"}));
  EXPECT_EQ(command_with({"t.py", "--x"}, "--size", "2 3"), (Words{"t.py", "--x", "--size", "2", "3"}));
  EXPECT_EQ(command_with({"t.py", "--size", "1", "1", "--x"}, "--size", "2 3"),
            (Words{"t.py", "--size", "2", "3", "--x"}));
  EXPECT_EQ(command_with({"t.py", "--size", "1", "data"}, "--size", "2"), (Words{"t.py", "--size", "2", "data"}));
  EXPECT_EQ(command_with({"t.py", "--shift", "-1"}, "--shift", "-3"), (Words{"t.py", "--shift", "-3"}));
}

TEST(SweepVariables, the_batch_is_found_or_asked_for) {
  EXPECT_EQ(command_with({"t.py", "--batch_size", "1"}, "batch", "8"), (Words{"t.py", "--batch_size", "8"}));
  EXPECT_EQ(command_with({"t.py", "--n", "{batch}x{batch}"}, "batch", "8"), (Words{"t.py", "--n", "8x8"}));
  const auto by_plan = build_trial({.gpus = {"g"}, .command = {"t.py"}, .variables = {{"batch", {"8"}}}}, {"8"});
  ASSERT_TRUE(by_plan);
  ASSERT_EQ(by_plan->plan.changes.size(), 1U);
  EXPECT_EQ(by_plan->plan.changes[0].technique, "batch_size");
  const SweepSpec nonsense{.gpus = {"g"}, .command = {"t.py"}, .variables = {{"batch", {"8", "x"}}}};
  EXPECT_FALSE(check_trials(nonsense));
  const auto none = build_trial(nonsense, {"x"});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().remedy.find("{batch}"), std::string::npos);
}

TEST(SweepVariables, on_real_cards_somebody_has_to_say_how_far_a_trial_runs) {
  SweepSpec spec{.gpus = {"real"}, .command = {"t.py", "--bs", "1"}, .variables = {{"batch", {"8"}}}};
  const auto refused = check_trials(spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().where, "--steps");
  spec.options = {"--steps", "auto"};
  EXPECT_TRUE(check_trials(spec));
  spec.options.clear();
  spec.variables.push_back({"steps", {"all", "4"}});
  EXPECT_TRUE(check_trials(spec));
  spec.variables = {{"batch", {"8"}}, {"gpu", {"rtx3060", "real"}}};
  EXPECT_FALSE(check_trials(spec));
  spec.variables.back().values.pop_back();
  EXPECT_TRUE(check_trials(spec));
}

TEST(SweepVariables, plans_and_options_of_run_are_varied_too) {
  const SweepSpec spec{.gpus = {"rtx3060"},
                       .options = {"--steps", "2"},
                       .command = {"t.py"},
                       .variables = {{"amp", {"fp16"}}, {"alloc", {"c:1"}}, {"gpu", {"rtx3090"}}}};
  const auto trial = build_trial(spec, {"fp16", "c:1", "rtx3090"});
  ASSERT_TRUE(trial);
  ASSERT_EQ(trial->plan.changes.size(), 2U);
  EXPECT_EQ(model::find_text(trial->plan.changes[0], "dtype"), "float16");
  EXPECT_EQ(model::find_text(trial->plan.changes[1], "conf"), "c:1");
  EXPECT_EQ(trial->run_options, (Words{"--gpu", "rtx3090", "--steps", "2"}));
  EXPECT_FALSE(build_trial({.command = {"t.py"}, .variables = {{"nonsense", {"1"}}}}, {"1"}));
}

model::TrialResult result_of(bool fits) {
  model::TrialResult result;
  result.verdict = fits ? "fits" : "out_of_memory";
  return result;
}

TEST(LargestSearch, finds_every_border_and_has_run_both_its_sides) {
  for (std::int64_t border = 0; border <= 70; ++border) {
    LargestSearch search(1, 64);
    std::set<std::int64_t> ran;
    while (const auto number = search.next()) {
      ASSERT_TRUE(ran.insert(*number).second) << *number << " twice, border " << border;
      search.tell(*number, result_of(*number <= border));
    }
    const model::Largest found = search.answer({});
    if (border == 0) {
      EXPECT_FALSE(found.fits);
      EXPECT_EQ(found.too_large, 1);
    } else {
      EXPECT_EQ(found.fits, std::min<std::int64_t>(border, 64));
      EXPECT_TRUE(ran.contains(*found.fits));
      if (border < 64) {
        EXPECT_EQ(found.too_large, border + 1);
        EXPECT_TRUE(ran.contains(*found.too_large));
      }
    }
    EXPECT_LE(ran.size(), 14U);
  }
}

TEST(LargestSearch, a_borderline_neighbour_is_told_from_one_that_does_not_fit) {
  const auto search_with = [](const char* next) {
    LargestSearch search(1, 64);
    while (const auto number = search.next()) {
      model::TrialResult result = result_of(*number <= 5);
      if (*number == 6) result.verdict = next;
      search.tell(*number, result);
    }
    return search.answer({});
  };
  EXPECT_EQ(search_with("borderline").too_large, 6);
  EXPECT_TRUE(search_with("borderline").is_borderline);
  EXPECT_FALSE(search_with("out_of_memory").is_borderline);
  const std::string line = report::largest_line({.goal = model::SweepGoal{"batch", 1, 64}}, search_with("borderline"));
  EXPECT_NE(line.find("6 is borderline"), std::string::npos) << line;
}

TEST(LargestSearch, a_failure_for_another_reason_ends_it) {
  LargestSearch search(1, 64);
  search.tell(1, result_of(true));
  model::TrialResult failed;
  failed.verdict = "failed";
  failed.reason = "no such file";
  search.tell(2, failed);
  EXPECT_FALSE(search.next());
  EXPECT_EQ(search.answer({}).fits, 1);
  EXPECT_NE(search.answer({}).obstacle.find("no such file"), std::string::npos);
}

// Fits when batch x size <= 1000; can lose trials and be interrupted.
class FakeTrialRunner final : public TrialRunner {
 public:
  explicit FakeTrialRunner(const SweepFolder& folder) : folder_(folder) {}
  std::size_t room() const override { return 2 - running_.size(); }
  base::Result<void> start(const std::vector<std::size_t>& trials) override {
    for (const std::size_t trial : trials) {
      running_.push_back(trial);
      started.push_back(trial);
    }
    return {};
  }
  base::Result<std::vector<std::size_t>> wait() override {
    if (started.size() >= interrupt_after) ::raise(SIGINT);
    if (running_.empty()) return std::vector<std::size_t>();
    const std::size_t trial = running_.front();
    running_.erase(running_.begin());
    if (lost.contains(trial) && lost_times++ < most_lost) return std::vector{trial};
    std::int64_t product = 1;
    const auto values = folder_.read_values(trial);
    EXPECT_TRUE(values);
    for (const std::string& value : *values) product *= std::stoll(value);
    model::TrialResult result = result_of(product <= 1000);
    result.peaks = model::Peaks{Bytes(product), Bytes(product), Bytes::mib(product)};
    EXPECT_TRUE(folder_.write_result(trial, result));
    return std::vector{trial};
  }
  void cancel() override { running_.clear(); }

  std::vector<std::size_t> started;
  std::set<std::size_t> lost;
  int lost_times = 0, most_lost = 1;
  std::size_t interrupt_after = 1'000'000;

 private:
  const SweepFolder& folder_;
  std::vector<std::size_t> running_;
};

class SweepTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove_all(path_); }

  base::Result<model::SweepResult> run() {
    return sweep(
        spec, folder(), runner, [this](const model::Trial&, bool known) { ++(known ? known_ : told_); },
        base::silent_progress(), base::steady_clock());
  }
  SweepFolder& folder() { return folder_; }

  fs::path path_ = fs::path(::testing::TempDir()) / ("vramfit-sweep-" + std::to_string(::getpid()));
  SweepFolder folder_{path_};
  FakeTrialRunner runner{folder_};
  SweepSpec spec{
      .gpus = {"g"}, .command = {"t.py"}, .variables = {{"--batch", {"1", "10", "100"}}, {"--size", {"5", "50"}}}};
  int told_ = 0, known_ = 0;
};

TEST_F(SweepTest, runs_every_combination_once_and_draws_the_map) {
  const auto result = run();
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_EQ(runner.started.size(), 6U);
  EXPECT_EQ(told_, 6);
  const std::string text = report::sweep_to_text(*result);
  EXPECT_NE(text.find("5 of 6 trials fit"), std::string::npos) << text;
  EXPECT_NE(text.find("OOM"), std::string::npos) << text;
}

TEST_F(SweepTest, goes_on_after_an_interrupt_and_runs_nothing_twice) {
  runner.interrupt_after = 4;
  const auto first = run();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->interrupted);
  const auto done = std::ranges::count(first->trials, model::TrialState::kDone, &model::Trial::state);
  EXPECT_LT(done, 6);
  runner.interrupt_after = 1'000'000;
  runner.started.clear();
  told_ = known_ = 0;
  const auto second = run();
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->interrupted);
  EXPECT_EQ(known_, done);
  EXPECT_EQ(runner.started.size() + static_cast<std::size_t>(done), 6U);
  for (const model::Trial& trial : second->trials) EXPECT_EQ(trial.state, model::TrialState::kDone);
}

TEST_F(SweepTest, another_sweep_in_the_same_folder_is_refused) {
  ASSERT_TRUE(run());
  spec.command = {"other.py"};
  const auto again = run();
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().remedy.find("--out"), std::string::npos);
  EXPECT_NE(again.error().what.find("command: t.py there, other.py here"), std::string::npos) << again.error().what;
}

TEST_F(SweepTest, another_time_limit_makes_no_other_sweep) {
  ASSERT_TRUE(run());
  spec.timeout_seconds = 7;
  ASSERT_TRUE(run());
  EXPECT_EQ(known_, 6) << "all were taken over";
  EXPECT_EQ(folder().read_spec()->timeout_seconds, 7) << "tasks of a cluster read it there";
}

TEST_F(SweepTest, what_took_too_long_is_run_again_when_the_sweep_is_taken_up) {
  ASSERT_TRUE(run());
  for (const std::size_t trial : {1, 3}) {
    model::TrialResult late;
    late.verdict = trial == 1 ? "timed_out" : "failed";
    ASSERT_TRUE(folder().write_result(trial, late));
  }
  runner.started.clear();
  ASSERT_TRUE(run());
  EXPECT_EQ(runner.started, (std::vector<std::size_t>{1, 3}));
}

TEST_F(SweepTest, retry_says_which_ends_are_not_taken_over) {
  ASSERT_TRUE(run());
  const auto again = [&](const Retry& retry) {
    runner.started.clear();
    EXPECT_TRUE(sweep(
        spec, folder(), runner, [](const model::Trial&, bool) {}, base::silent_progress(), base::steady_clock(),
        retry));
    return runner.started.size();
  };
  EXPECT_EQ(again({"out_of_memory"}), 1U);
  EXPECT_EQ(again({"failed"}), 0U);
  EXPECT_EQ(again({"all"}), 6U);
}

TEST_F(SweepTest, a_lost_trial_is_tried_once_more) {
  runner.lost = {2};
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(std::ranges::count(runner.started, std::size_t{2}), 2);
  EXPECT_EQ(result->trials[2].state, model::TrialState::kDone);
}

TEST_F(SweepTest, a_trial_that_is_lost_again_is_told_as_lost) {
  runner.lost = {2};
  runner.most_lost = 5;
  const auto result = run();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->trials[2].state, model::TrialState::kLost);
  EXPECT_NE(report::sweep_to_text(*result).find("1 have no result"), std::string::npos);
}

TEST_F(SweepTest, searches_the_largest_for_each_combination) {
  spec.variables = {{"--size", {"5", "50", "5000"}}};
  spec.goal = model::SweepGoal{"--batch", 1, 4096};
  const auto result = run();
  ASSERT_TRUE(result);
  ASSERT_EQ(result->largest.size(), 3U);
  EXPECT_EQ(result->largest[0].fits, 200);
  EXPECT_EQ(result->largest[0].too_large, 201);
  EXPECT_EQ(result->largest[1].fits, 20);
  EXPECT_FALSE(result->largest[2].fits);
  const std::string text = report::sweep_to_text(*result);
  EXPECT_NE(text.find("--batch 200 fits, 201 does not; both were run"), std::string::npos) << text;
  EXPECT_NE(text.find("not even --batch 1 fits"), std::string::npos) << text;
}

TEST_F(SweepTest, the_definition_comes_back_from_its_file) {
  spec.goal = model::SweepGoal{"batch", 2, 9};
  const auto back = ingest::parse_sweep_json(ingest::sweep_to_json(spec), "f");
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, spec);
  EXPECT_FALSE(ingest::parse_sweep_json("{\"gpus\": 3}", "f"));
}

TEST(SweepFile, a_toml_file_keeps_the_order_of_its_variables) {
  const auto file = ingest::parse_sweep_toml(R"(
    gpu = "rtx3060"
    command = ["python", "t.py"]
    timeout = 60
    find-max = "batch=1..8"
    [vary]
    zeta = [1, 2.5, true]
    "--alpha" = ["x"]
  )",
                                             "s.toml");
  ASSERT_TRUE(file) << to_string(file.error());
  EXPECT_EQ(file->spec.gpus, (Words{"rtx3060"}));
  EXPECT_EQ(file->spec.timeout_seconds, 60);
  EXPECT_EQ(file->find_max, "batch=1..8");
  ASSERT_EQ(file->spec.variables.size(), 2U);
  EXPECT_EQ(file->spec.variables[0], (model::SweepVariable{"zeta", {"1", "2.5", "true"}}));
}

TEST(SweepFile, errors_name_the_line) {
  const auto unknown = ingest::parse_sweep_toml("gpu = \"a\"\nnonsense = 1\n", "s.toml");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().where, "s.toml:2");
  EXPECT_EQ(ingest::parse_sweep_toml("comand = \"a\"\n", "s.toml").error().what,
            "there is no key comand; did you mean command?");
  EXPECT_EQ(ingest::parse_sweep_toml("gpu = \n", "s.toml").error().where, "s.toml:1");
  EXPECT_FALSE(ingest::parse_sweep_toml("timeout = -1\n", "s.toml"));
  EXPECT_FALSE(ingest::parse_sweep_toml("[vary]\nbatch = []\n", "s.toml"));
}

TEST_F(SweepTest, a_job_script_quotes_what_it_names) {
  const SweepFolder odd("/a/it's here");
  const auto slurm = SlurmTrialRunner::create(odd, "/opt/my tools/vramfit", {}, base::steady_clock());
  ASSERT_TRUE(slurm);
  const std::string script = slurm->job_script();
  EXPECT_NE(script.find("exec '/opt/my tools/vramfit' sweep --out '/a/it'\\''s here'"), std::string::npos) << script;
}

}  // namespace
}  // namespace vramfit::sweep
