#include "report/fit_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "report/fit_json.h"
#include "report/layout.h"
#include "report/testing/schema_check.h"

namespace vramfit::report {
namespace {

using base::Bytes;
using model::FitResult;
using model::FitVerdict;
using model::PlanRow;
using model::PlanStanding;

Bytes share_of(Bytes bytes, std::int64_t percent) { return Bytes(bytes.count() * percent / 100); }

PlanRow row(std::string name, std::int64_t mib, double time, std::string effect) {
  PlanRow result;
  result.plan = {std::move(name), {{"autocast", {{"dtype", std::string("float16")}, {"scaler", true}}}}};
  result.standing = PlanStanding::kFits;
  result.predicted = Bytes::mib(mib - 200);
  result.predicted_peak = Bytes::mib(mib - 100);
  result.predicted_error = 0.02;
  result.predicted_low = share_of(result.predicted_peak, 98);
  result.predicted_high = share_of(result.predicted_peak, 102);
  result.predicted_by = "played";
  result.proven = model::Peaks{Bytes::mib(mib - 400), Bytes::mib(mib - 300), Bytes::mib(mib)};
  result.time_factor = time;
  result.effect = std::move(effect);
  return result;
}

FitResult found() {
  FitResult result;
  result.verdict = FitVerdict::kPlanFits;
  result.card = "NVIDIA GeForce GTX 1650";
  result.limit = Bytes::mib(3903);
  result.plans = {row("fp16 autocast + GradScaler, checkpoint 4 blocks", 3300, 1.08, "rounding"),
                  row("micro-batch 2 x 4", 2900, 1.02, "statistics")};
  result.plans[0].consequences = {"matmuls and convolutions round to fp16 under a GradScaler; weights stay fp32"};
  result.plans[1].reason = "changes what is learned";
  PlanRow lost = row("fp16 autocast + GradScaler", 3900, 1.0, "rounding");
  lost.standing = PlanStanding::kDoesNotFit;
  lost.reason = "ran out in train, asking for 64.0 MiB more";
  result.lost = {lost};
  result.techniques = {{"optimizer", "in_force", "SGD already keeps as little as it can"}};
  result.cheapest_known = true;
  result.plan_file = "vramfit-plan.json";
  result.prove_command = "vramfit run --gpu 'GTX 1650' --plan vramfit-plan.json -- python train.py";
  result.patch_command = "vramfit patch vramfit-plan.json --gpu 'GTX 1650' -- python train.py";
  result.train_command = "vramfit run --gpu real --plan vramfit-plan.json -- python train.py";
  result.runs = 9;
  result.seconds = 21;
  result.candidates = 800;
  result.ruled_out = 300;
  return result;
}

std::vector<std::string> violations_of(const FitResult& result) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/docs/run.schema.json");
  const auto json = nlohmann::json::parse(fit_to_json(result, "0.1"));
  return testing::find_violations(json, nlohmann::json::parse(file));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(FitText, the_verdict_comes_first_and_last) {
  const std::string text = fit_to_text(found(), {});
  const std::string verdict = fit_verdict_line(found());
  EXPECT_TRUE(text.starts_with(verdict + "\n"));
  EXPECT_TRUE(text.ends_with(verdict + "\n"));
  EXPECT_TRUE(verdict.starts_with("[✓] fp16 autocast"));
}

FitResult micro_batch(model::Sameness sameness, bool checked, std::string text) {
  FitResult result = found();
  result.plans = {row("micro-batch 2 x 4", 2900, 1.02, "same")};
  result.plans[0].equivalence = model::Equivalence{};
  result.plans[0].equivalence->sameness = sameness;
  result.plans[0].equivalence->checked = checked;
  result.plans[0].equivalence->text = std::move(text);
  return result;
}

constexpr const char* kNothing = "nothing that is learned";

TEST(FitText, says_what_a_comparison_of_the_best_plan_found) {
  const std::string text =
      fit_to_text(micro_batch(model::Sameness::kRounding, true, "trains the same: 4 steps compared"), {});
  EXPECT_NE(text.find("  - trains the same: 4 steps compared\n"), std::string::npos);
  EXPECT_NE(text.find(kNothing), std::string::npos);
  EXPECT_EQ(text.find("same?"), std::string::npos);
}

TEST(FitText, a_plan_that_was_not_compared_is_not_said_to_be_the_same) {
  const std::string text =
      fit_to_text(micro_batch(model::Sameness::kNotChecked, false, "not compared: --no-verify"), {});
  EXPECT_EQ(text.find(kNothing), std::string::npos);
  EXPECT_NE(text.find("same?"), std::string::npos);
  EXPECT_NE(text.find("  - not compared: --no-verify; whether it trains the same is promised, not\n"),
            std::string::npos)
      << text;
}

TEST(FitText, what_is_meant_to_train_otherwise_is_no_doubt) {
  FitResult result = micro_batch(model::Sameness::kNotChecked, false, "not compared: it is meant to train otherwise");
  result.plans[0].effect = "input";
  const std::string text = fit_to_text(result, {});
  EXPECT_EQ(text.find("input?"), std::string::npos);
  EXPECT_EQ(text.find("promised, not proven"), std::string::npos);
}

// Adam on 100 GiB of weights, on a card of 12.
FitResult hopeless() {
  FitResult result;
  result.verdict = FitVerdict::kNothingFits;
  result.card = "RTX 3060";
  result.limit = base::Bytes::gib(12);
  model::Floor floor;
  floor.weights = floor.gradients = base::Bytes::gib(100);
  floor.moved = base::Bytes::gib(3);
  floor.optimizer = base::Bytes::gib(200);
  floor.context = base::Bytes::gib(1);
  floor.transient = base::Bytes::gib(2);
  floor.owner = "GPT, 26.8 billion parameters";
  floor.remedies = {{"LoRA", base::Bytes::gib(300), base::Bytes::gib(101)},
                    {"all of it elsewhere", base::Bytes::gib(390), base::Bytes::gib(11)}};
  floor.cards = {{"RTX 3060", 53, base::Bytes::gib(11)}, {"H200", 0, base::Bytes::gib(150)}};
  result.floor = floor;
  result.advice = {"without heads.1 it would hold less by 110 MiB"};
  return result;
}

TEST(FitText, where_nothing_fits_whose_it_is_and_what_each_remedy_leaves) {
  const std::string text = fit_to_text(hopeless(), {});
  EXPECT_NE(text.find("GPT, 26.8 billion parameters"), std::string::npos) << text;
  EXPECT_NE(text.find("404.00 GiB  in all, of 12.00 GiB on the card"), std::string::npos) << text;
  EXPECT_NE(text.find("101.00 GiB  LoRA\n"), std::string::npos) << text;
  EXPECT_NE(text.find("11.00 GiB  all of it elsewhere (below the card's memory)"), std::string::npos) << text;
  EXPECT_NE(text.find("53 x RTX 3060"), std::string::npos) << text;
  EXPECT_NE(text.find("3.00 GiB  what the optimizer moves beside them"), std::string::npos) << text;
  EXPECT_NE(text.find("no number of H200"), std::string::npos) << text;
  EXPECT_NE(text.find("  - without heads.1 it would hold less by 110 MiB"), std::string::npos) << text;
  EXPECT_EQ(violations_of(hopeless()), std::vector<std::string>());
}

TEST(FitJson, keeps_the_schema_whatever_was_found) {
  EXPECT_TRUE(violations_of(micro_batch(model::Sameness::kOther, true, "trains something else")).empty());
  FitResult result = found();
  EXPECT_EQ(violations_of(result), std::vector<std::string>());
  result.free_run.emplace();
  result.cause = model::ScriptCause{"phase validate keeps `kept` on the card", "", "move it"};
  result.lost[0].proven.reset();
  for (const auto verdict : {FitVerdict::kNeedsEdit, FitVerdict::kNotProven, FitVerdict::kOutOfTime}) {
    result.verdict = verdict;
    EXPECT_EQ(violations_of(result), std::vector<std::string>());
  }
  EXPECT_EQ(violations_of(FitResult()), std::vector<std::string>());
}

TEST(FitText, does_not_fit_was_not_proven_and_out_of_time_are_three_answers) {
  FitResult result = found();
  std::set<std::string> lines;
  for (const auto verdict : {FitVerdict::kNothingFits, FitVerdict::kNotProven, FitVerdict::kOutOfTime}) {
    result.verdict = verdict;
    lines.insert(fit_verdict_line(result));
  }
  EXPECT_EQ(lines.size(), 3U);
}

TEST(FitText, what_is_known_when_it_is_interrupted_is_said) {
  FitResult result;
  result.verdict = FitVerdict::kInterrupted;
  result.was_interrupted = true;
  result.as_is.verdict = model::Verdict::kOutOfMemory;
  EXPECT_EQ(fit_to_text(result, {}).find("As it is"), std::string::npos);
  result.as_is.oom = model::Oom{.tried = Bytes::mib(64), .message = "", .phase = "train", .stack = {}};
  EXPECT_NE(fit_to_text(result, {}).find("As it is, the job runs out of memory in phase train, asking for 64 MiB."),
            std::string::npos)
      << fit_to_text(result, {});
}

TEST(FitText, a_fault_of_the_script_is_shown_with_its_line_and_what_to_write) {
  FitResult result = found();
  result.verdict = FitVerdict::kNeedsEdit;
  result.plans.clear();
  result.cause =
      model::ScriptCause{"phase validate keeps `kept` on the card", "train.py:9 in test", "move it to the CPU"};
  const std::string text = fit_to_text(result, {});
  EXPECT_NE(text.find("train.py:9 in test"), std::string::npos);
  EXPECT_NE(text.find("help: move it to the CPU"), std::string::npos);
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[✗] the script itself has to change"));
}

TEST(FitText, the_largest_batch_tells_whether_one_more_fails_or_is_near) {
  FitResult result = found();
  result.largest_batch = {16, 32, true, false, false};
  const auto says = [&](const std::string& words) {
    std::string line = fit_verdict_line(result);
    while (line.find("\n    ") != std::string::npos) line.replace(line.find("\n    "), 5, " ");
    return line.find(words) != std::string::npos;
  };
  EXPECT_TRUE(says("is the largest that fits"));
  EXPECT_TRUE(says("17 was run too, and does not fit"));
  result.largest_batch->is_next_near = true;
  EXPECT_TRUE(says("is the largest that is sure to fit"));
  EXPECT_TRUE(says("17 was run too, and is within the uncertainty"));
}

TEST(FitText, says_which_blocks_are_run_again) {
  FitResult result = found();
  const std::vector<std::string> modules = {"layers.2", "layers.0", "layers.1", "stem", "layers.10"};
  result.plans[0].plan.changes.push_back({"checkpoint", {{"modules", modules}}});
  EXPECT_NE(fit_to_text(result, {}).find("run again in backward: layers.0-2, layers.10, stem"), std::string::npos);
}

TEST(FitText, everything_but_the_commands_keeps_to_eighty_columns) {
  for (const std::string& line : lines_of(fit_to_text(found(), {.verbose = true, .color = false}))) {
    if (line.starts_with("  vramfit ")) continue;
    EXPECT_LE(columns(line), kPageWidth) << line;
  }
}

TEST(FitText, predicted_stands_beside_proven_in_the_table) {
  const std::string text = fit_to_text(found(), {});
  EXPECT_NE(text.find("  1    3.12 GiB    3.22 GiB  x1.08  rounding     fp16 autocast + GradScaler,"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  micro-batch 2 x 4\n" + std::string(48, ' ') + "(changes what is learned)\n"),
            std::string::npos);
}

TEST(FitText, of_what_was_not_run_it_is_told_how_far_it_may_be_off) {
  FitResult result = found();
  result.foreseen = {row("inputs x 0.75", 2000, 1.2, "input")};
  result.foreseen.front().proven.reset();
  const std::string text = fit_to_text(result, {});
  EXPECT_NE(text.find("  3    1900 MiB     - (±2%)  x1.20  input"), std::string::npos) << text;
  EXPECT_NE(text.find("95 % within"), std::string::npos) << text;
  result.foreseen.front().predicted_error = 0;  // of a result of before
  const std::string before = fit_to_text(result, {});
  EXPECT_NE(before.find("  3    1900 MiB           -  x1.20  input"), std::string::npos) << before;
  EXPECT_EQ(before.find("±"), std::string::npos) << before;
}

TEST(FitText, of_what_nothing_tells_of_it_gives_the_range) {
  FitResult result = found();
  result.foreseen = {row("no_grad in evaluation", 2000, 1, "same")};
  result.foreseen.front().proven.reset();
  result.foreseen.front().predicted_high = Bytes::gib(70);
  const std::string text = fit_to_text(result, {});
  EXPECT_NE(text.find("- (?)  x1.00  same"), std::string::npos) << text;
  EXPECT_EQ(text.find("(±2%)"), std::string::npos) << text;
  EXPECT_NE(text.find(std::string(48, ' ') + "(1862 MiB to 70.00 GiB: only its\n"), std::string::npos) << text;
}

TEST(FitText, a_long_plan_is_wrapped_within_its_column) {
  const std::string text = fit_to_text(found(), {});
  EXPECT_NE(text.find("fp16 autocast + GradScaler,\n" + std::string(48, ' ') + "checkpoint 4 blocks\n"),
            std::string::npos)
      << text;
}

TEST(FitText, losers_say_why_and_what_was_not_tried_is_told) {
  const std::string text = fit_to_text(found(), {.verbose = true, .color = false});
  EXPECT_NE(text.find("fp16 autocast + GradScaler: ran out in train, asking for 64.0 MiB more"), std::string::npos);
  EXPECT_NE(text.find("optimizer: already in force: SGD already keeps"), std::string::npos);
}

TEST(FitText, where_a_plan_is_the_answer_the_rest_is_for_those_who_ask) {
  const std::string text = fit_to_text(found(), {});
  EXPECT_EQ(text.find("Plans that lost"), std::string::npos);
  EXPECT_NE(text.find("-v tells why"), std::string::npos);
  FitResult nothing = found();
  nothing.plans.clear();
  nothing.verdict = FitVerdict::kNothingFits;
  EXPECT_NE(fit_to_text(nothing, {}).find("Plans that lost"), std::string::npos);
}

TEST(FitText, memory_stands_against_time_and_says_what_was_not_run) {
  FitResult result = found();
  model::PlanRow row = result.plans.front();
  row.standing = PlanStanding::kNotRun;
  row.proven.reset();
  row.time_factor = 1.25;
  result.front = {row};
  const auto lines = lines_of(fit_to_text(result, {.verbose = true, .color = false}));
  const auto heading = std::ranges::find(lines, "Memory against time");
  ASSERT_NE(heading, lines.end());
  EXPECT_NE((heading + 2)->find("- (±2%)  x1.25"), std::string::npos) << *(heading + 2);
}

TEST(FitText, an_answer_with_everything_to_tell_fits_one_screen) {
  FitResult result = found();
  result.plans.resize(1);
  result.plans[0].consequences.clear();
  result.free_run.emplace();
  result.free_run->devices.emplace_back();
  for (int i = 0; i < 9; ++i) {
    result.foreseen.push_back(row("inputs x 0.75, micro-batch 2 x 4", 2000 + i, 1.2, "statistics"));
    result.foreseen.back().proven.reset();
    result.free_run->reach.open.push_back(
        "rounds of the loop at train.py:148 (`trainer.epoch`) 3 to 27 were left out "
        "but for a few: what piles up over them, or depends on them, was not seen");
    result.hardware.push_back(
        {"x", "NVIDIA GeForce RTX 4060", 1, false, Bytes::gib(5), Bytes::gib(8), 0.2, 0.3, false});
  }
  const std::string text = fit_to_text(result, {});
  EXPECT_LE(lines_of(text).size(), 40U) << text;
  EXPECT_NE(text.find("only predicted, not run"), std::string::npos);
  EXPECT_NE(text.find("and 7 more (-v shows all"), std::string::npos);
  EXPECT_GT(lines_of(fit_to_text(result, {.verbose = true, .color = false})).size(), 40U);
}

// A diff as `vramfit patch` makes it: a helper in place of nothing, and lines that change.
model::Patch patch_of_two() {
  const std::string diff =
      "--- a/train.py\n+++ b/train.py\n@@ -1,5 +1,16 @@\n import torch\n+\n+import functools\n+\n"
      "+def run_again(model, names):\n+    one\n+    two\n+    three\n+    four\n+\n model = Net().cuda()\n"
      "+run_again(model, ['stage3'])\n optimizer = SGD(model.parameters())\n-optimizer.step()\n+released.step()\n";
  return {"/data", {{"/data/train.py", "", "", diff}}, {"checkpoint", "release_gradients"}, {}};
}

TEST(FitText, the_plan_is_shown_in_the_scripts_own_source) {
  FitResult result = found();
  EXPECT_FALSE(fit_to_text(result, {}).contains("own source")) << "no run made one";
  result.plans[0].patch = patch_of_two();
  const std::string text = fit_to_text(result, {});
  EXPECT_TRUE(
      text.contains("\nThe best plan in your own source (vramfit patch: the whole diff)\n"
                    "  train.py\n"
                    "    +def run_again(model, names): ... 9 lines\n"
                    "    +run_again(model, ['stage3'])\n"
                    "    -optimizer.step()\n"
                    "    +released.step()\n"))
      << text;
  EXPECT_TRUE(fit_to_text(result, {.verbose = true}).contains("    +    four\n")) << "-v shows the helper too";
}

TEST(FitText, what_no_diff_can_say_stays_with_the_plan_by_name) {
  FitResult result = found();
  result.plans[0].patch = patch_of_two();
  result.plans[0].patch->left = {{"tiles", "they replace what PyTorch itself does"}};
  EXPECT_TRUE(
      fit_to_text(result, {}).contains("  - tiles stays with the plan file: they replace what PyTorch itself does\n"));
  result.plans[0].patch = model::Patch{"/data", {}, {}, {{"tiles", "no"}}};
  EXPECT_TRUE(fit_to_text(result, {}).contains("\nNot as a diff of your own source\n  - tiles stays"));
}

TEST(FitText, of_a_long_diff_an_answer_shows_its_first_lines) {
  FitResult result = found();
  std::string diff = "--- a/train.py\n+++ b/train.py\n@@ -1,20 +1,20 @@\n";
  for (int line = 0; line < 20; ++line) diff += "-old" + std::to_string(line) + "\n+new" + std::to_string(line) + "\n";
  result.plans[0].patch = model::Patch{"/data", {{"/data/train.py", "", "", diff}}, {"autocast"}, {}};
  const std::string text = fit_to_text(result, {});
  EXPECT_TRUE(text.contains("    +new5\n    and 28 lines more\n")) << text;
  EXPECT_TRUE(fit_to_text(result, {.verbose = true}).contains("    +new19\n"));
}

TEST(FitJson, has_the_diff_of_a_plan) {
  FitResult result = found();
  result.plans[0].patch = patch_of_two();
  const auto plans = nlohmann::json::parse(fit_to_json(result, "0.1"))["fit"]["plans"];
  EXPECT_EQ(plans[0]["source"]["root"], "/data");
  EXPECT_TRUE(plans[0]["source"]["diff"].get<std::string>().contains("+released.step()"));
  EXPECT_TRUE(plans[1]["source"].is_null());
  EXPECT_EQ(violations_of(result), std::vector<std::string>{});
}

TEST(FitText, a_plan_that_was_proven_before_an_interrupt_is_said_to_be_the_best_so_far) {
  FitResult result = found();
  result.was_interrupted = true;
  result.cheapest_known = false;
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[✓] interrupted; the best so far: fp16 autocast"));
  EXPECT_NE(fit_to_text(result, {}).find("; interrupted, so"), std::string::npos);
}

TEST(FitText, commands_are_whole_lines_for_copying) {
  const auto lines = lines_of(fit_to_text(found(), {}));
  EXPECT_NE(std::ranges::find(lines, "  " + found().train_command), lines.end());
  EXPECT_NE(std::ranges::find(lines, "  " + found().prove_command), lines.end());
  EXPECT_NE(std::ranges::find(lines, "  " + found().patch_command), lines.end());
}

TEST(FitText, no_plan_and_no_time_are_different_verdicts) {
  FitResult result;
  result.card = "X";
  result.verdict = FitVerdict::kNothingFits;
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[✗] no plan fits"));
  result.verdict = FitVerdict::kOutOfTime;
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[!] ran out of time"));
  result.verdict = FitVerdict::kFitsAlready;
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[✓] fits already, as far as it ran"));
  result.as_is.reach.whole = true;
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[✓] fits already"));
  result.as_is.devices.emplace_back().peaks.device = base::Bytes::mib(300);
  EXPECT_TRUE(fit_verdict_line(result).contains("with 300 MiB at the peak"));
  EXPECT_FALSE(fit_verdict_line(result).contains("tight"));
  result.as_is.devices[0].retries = 2;
  EXPECT_TRUE(fit_verdict_line(result).contains("memory is tight"));
}

TEST(FitJson, is_a_run_with_a_member_more) {
  const auto json = nlohmann::ordered_json::parse(fit_to_json(found(), "0.1"));
  EXPECT_TRUE(json.contains("verdict") && json.contains("devices"));
  const auto& fit = json["fit"];
  EXPECT_EQ(fit["verdict"], "plan_fits");
  EXPECT_EQ(fit["plans"][0]["techniques"][0]["id"], "autocast");
  EXPECT_EQ(fit["plans"][0]["techniques"][0]["scaler"], true);
  EXPECT_EQ(fit["plans"][0]["proven"]["peak_device_bytes"], 3300LL << 20);
  EXPECT_EQ(fit["plans"][0]["predicted"]["source"], "model");
  EXPECT_EQ(fit["plans"][0]["predicted"]["low_bytes"], 3200LL * 98 / 100 << 20);
  EXPECT_EQ(fit["plans"][0]["predicted"]["high_bytes"], 3200LL * 102 / 100 << 20);
  EXPECT_EQ(fit["plans"][0]["predicted"]["by"], "played");
  EXPECT_EQ(fit["lost"][0]["standing"], "does_not_fit");
  EXPECT_TRUE(fit["free_run"].is_null());
}

}  // namespace
}  // namespace vramfit::report
