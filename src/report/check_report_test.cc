#include "report/check_report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/layout.h"
#include "report/testing/schema_check.h"

namespace vramfit::report {
namespace {

using model::Agreement;

model::CheckResult found(Agreement agreement) {
  model::CheckResult result;
  result.recording = "runs/real/forward_and_backward_memory_snapshot_100.pickle";
  result.format = "memory snapshot";
  result.partner = "what the script dumps to forward_and_backward_memory_snapshot_100.pickle";
  result.card = "NVIDIA GeForce RTX 4060 Ti";
  result.torch = "2.6.0+cu124";
  result.recorded_torch = "2.6 or later";
  result.agreement = agreement;
  result.text = "7609 of 7609 events the same, in order";
  result.recorded_events = result.virtual_events = result.same = 7609;
  result.figures = {{"live bytes at the peak", 100, 100, true},
                    {"reserved at the end", 786432000, 786432000, true},
                    {"segments at the end", 73, std::nullopt, false}};
  result.recorded_address_order = "wsl";
  result.virtual_address_order = "linux";
  result.places = 3853;
  result.same_places = 3800;
  if (agreement != Agreement::kDifferent) return result;
  model::CheckDifference first;
  first.recorded_at = 120;
  first.virtual_at = 121;
  first.recorded = {"alloc", base::Bytes(4096), "module.py:12 forward"};
  first.virtual_events = 3;
  result.differences = {first, first};
  result.all_differences = 30;
  result.causes = {{model::CheckCause::kPackage,
                    "of the 3 events that only one side has, 3 were asked for by einx (0 recorded, 3 in the run): "
                    "another version of it, or another use"}};
  result.figures[1].virtual_run = 790626304;
  result.notes = {"the file is damaged: it ends too early"};
  return result;
}

TEST(CheckText, begins_with_the_answer) {
  EXPECT_TRUE(check_to_text(found(Agreement::kSame), {})
                  .starts_with("[✓] 7609 of 7609 events the same, in order; 750 MiB reserved in both\n"));
  EXPECT_TRUE(check_to_text(found(Agreement::kDifferent), {}).starts_with("[✗] 7609 of 7609"));
  EXPECT_TRUE(check_to_text(found(Agreement::kNotCompared), {}).starts_with("[?] "));
}

TEST(CheckText, tells_both_sides_of_the_first_difference_the_cause_and_the_sums) {
  const std::string text = check_to_text(found(Agreement::kDifferent), {});
  EXPECT_TRUE(text.contains("recorded, event 120: alloc 4.0 KiB (4096 bytes) at module.py:12 forward"));
  EXPECT_TRUE(text.contains("virtual, event 121: nothing more"));
  EXPECT_TRUE(text.contains("… and 29 more places; -v shows the first 20"));
  EXPECT_TRUE(text.contains("asked for by einx"));
  EXPECT_TRUE(text.contains("+4.0 MiB"));
  EXPECT_TRUE(text.contains("3800 of 3853 blocks in the same segment"));
  EXPECT_TRUE(text.contains("the file is damaged"));
}

TEST(CheckText, keeps_to_80_columns) {
  for (const Agreement agreement : {Agreement::kSame, Agreement::kDifferent}) {
    std::istringstream lines(check_to_text(found(agreement), {}));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), kPageWidth) << line;
  }
}

TEST(CheckJson, keeps_its_schema) {
  std::ifstream file(VRAMFIT_SOURCE_DIR "/docs/check.schema.json");
  const auto schema = nlohmann::json::parse(file);
  for (const Agreement agreement :
       {Agreement::kSame, Agreement::kReordered, Agreement::kDifferent, Agreement::kNotCompared}) {
    const auto json = nlohmann::json::parse(check_to_json(found(agreement), "0.1"));
    const auto violations = testing::find_violations(json, schema);
    EXPECT_TRUE(violations.empty()) << violations.front();
  }
}

}  // namespace
}  // namespace vramfit::report
