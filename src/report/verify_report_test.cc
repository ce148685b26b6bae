#include "report/verify_report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/layout.h"
#include "report/testing/schema_check.h"

namespace vramfit::report {
namespace {

using model::Sameness;

model::VerifyResult found(Sameness sameness, std::string text) {
  model::VerifyResult result;
  result.plan = "micro-batch 4 x 2";
  result.card = "NVIDIA GeForce RTX 3090";
  result.equivalence.sameness = sameness;
  result.equivalence.checked = sameness != Sameness::kNotChecked;
  result.equivalence.text = std::move(text);
  result.equivalence.steps = 4;
  result.runs = 2;
  result.seconds = 8.25;
  return result;
}

TEST(VerifyText, begins_with_the_answer) {
  EXPECT_TRUE(verify_to_text(found(Sameness::kRounding, "trains the same: 4 steps compared"), {})
                  .starts_with("[✓] micro-batch 4 x 2 trains the same: 4 steps compared\n"));
  EXPECT_TRUE(verify_to_text(found(Sameness::kOther, "trains something else: x"), {})
                  .starts_with("[✗] micro-batch 4 x 2 trains something else: x\n"));
  EXPECT_TRUE(verify_to_text(found(Sameness::kNotChecked, "not compared: no time"), {})
                  .starts_with("[!] micro-batch 4 x 2 was not compared: no time\n"));
}

TEST(VerifyText, lists_what_differs_and_what_the_plan_names_in_80_columns) {
  model::VerifyResult result = found(Sameness::kOther, "trains something else: " + std::string(300, 'x'));
  result.equivalence.text = "trains something else: the learning rate in step 2 is 0.0833 instead of 0.0667; and more";
  result.equivalence.differences = {"the learning rate in step 2 is 0.0833 instead of 0.0667",
                                    "gradients differ by 3 %"};
  result.equivalence.effects = {"dropout draws its masks for each micro-batch: other random numbers"};
  result.untested = {"torch 2.99.0 is newer than those that are known"};
  const std::string text = verify_to_text(result, {});
  EXPECT_NE(text.find("[!] Untested\n  - torch 2.99.0"), std::string::npos);
  EXPECT_NE(text.find("What differs\n  - the learning rate in step 2"), std::string::npos);
  EXPECT_NE(text.find("changes\n  - dropout draws"), std::string::npos);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kPageWidth + 2) << line;
}

TEST(VerifyJson, keeps_its_schema) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/docs/verify.schema.json");
  const auto schema = nlohmann::json::parse(file);
  for (const Sameness sameness : {Sameness::kEqual, Sameness::kOther, Sameness::kNotANumber, Sameness::kNotChecked}) {
    const auto json = nlohmann::json::parse(verify_to_json(found(sameness, "x"), "0.1"));
    const auto violations = testing::find_violations(json, schema);
    EXPECT_TRUE(violations.empty()) << violations.front();
  }
}

}  // namespace
}  // namespace vramfit::report
