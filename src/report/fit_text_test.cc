#include "report/fit_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "report/fit_json.h"
#include "report/layout.h"

namespace vramfit::report {
namespace {

using base::Bytes;
using model::FitResult;
using model::FitVerdict;
using model::PlanRow;
using model::PlanStanding;

PlanRow row(std::string name, std::int64_t mib, double time, std::string effect) {
  PlanRow result;
  result.plan = {std::move(name), {{"autocast", {{"dtype", std::string("float16")}, {"scaler", true}}}}};
  result.standing = PlanStanding::kFits;
  result.predicted = Bytes::mib(mib - 100);
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
  result.train_command = "vramfit run --gpu real --steps all --plan vramfit-plan.json -- python train.py";
  result.runs = 9;
  result.seconds = 21;
  result.candidates = 800;
  result.ruled_out = 300;
  return result;
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

TEST(FitText, everything_but_the_commands_keeps_to_eighty_columns) {
  for (const std::string& line : lines_of(fit_to_text(found(), {.verbose = true, .color = false}))) {
    if (line.starts_with("  vramfit run")) continue;
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

TEST(FitText, a_long_plan_is_wrapped_within_its_column) {
  const std::string text = fit_to_text(found(), {});
  EXPECT_NE(text.find("fp16 autocast + GradScaler,\n" + std::string(48, ' ') + "checkpoint 4 blocks\n"),
            std::string::npos)
      << text;
}

TEST(FitText, losers_say_why_and_what_was_not_tried_is_told) {
  const std::string text = fit_to_text(found(), {});
  EXPECT_NE(text.find("fp16 autocast + GradScaler: ran out in train, asking for 64.0 MiB more"), std::string::npos);
  EXPECT_NE(text.find("optimizer: already in force: SGD already keeps"), std::string::npos);
}

TEST(FitText, commands_are_whole_lines_for_copying) {
  const auto lines = lines_of(fit_to_text(found(), {}));
  EXPECT_NE(std::ranges::find(lines, "  " + found().train_command), lines.end());
  EXPECT_NE(std::ranges::find(lines, "  " + found().prove_command), lines.end());
}

TEST(FitText, no_plan_and_no_time_are_different_verdicts) {
  FitResult result;
  result.card = "X";
  result.verdict = FitVerdict::kNothingFits;
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[✗] no plan fits"));
  result.verdict = FitVerdict::kOutOfTime;
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[!] ran out of time"));
  result.verdict = FitVerdict::kFitsAlready;
  EXPECT_TRUE(fit_verdict_line(result).starts_with("[✓] fits already"));
}

TEST(FitJson, is_a_run_with_a_member_more) {
  const auto json = fit_to_json(found(), "0.1");
  EXPECT_TRUE(json.contains("verdict") && json.contains("devices"));
  const auto& fit = json["fit"];
  EXPECT_EQ(fit["verdict"], "plan_fits");
  EXPECT_EQ(fit["plans"][0]["techniques"][0]["id"], "autocast");
  EXPECT_EQ(fit["plans"][0]["techniques"][0]["scaler"], true);
  EXPECT_EQ(fit["plans"][0]["proven"]["peak_device_bytes"], 3300LL << 20);
  EXPECT_EQ(fit["plans"][0]["predicted"]["source"], "model");
  EXPECT_EQ(fit["lost"][0]["standing"], "does_not_fit");
  EXPECT_TRUE(fit["free_run"].is_null());
}

}  // namespace
}  // namespace vramfit::report
