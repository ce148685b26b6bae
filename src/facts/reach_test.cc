#include "facts/reach.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ingest/testing/add_note.h"
#include "model/recording.h"

namespace vramfit::facts {
namespace {

using nlohmann::json;

model::Recording process(const std::vector<json>& notes) {
  model::Recording recording;
  for (const json& fields : notes) ingest::testing::add_note(recording, fields);
  return recording;
}

json gap(int line, const char* card) {
  return {{"file", "train.py"},         {"line", line},
          {"last_line", line + 1},      {"place", "train.py in main"},
          {"code", "evaluate(model)"},  {"when", "if step % 1000 == 0"},
          {"why", "every 1,000 steps"}, {"card", card}};
}

TEST(ReachNotes, a_script_that_nobody_cut_ran_whole) {
  EXPECT_TRUE(read_reach(std::vector{process({})}).whole);
  EXPECT_FALSE(read_reach(std::vector{process({{{"kind", "cut"}, {"what", "uploads"}}})}).whole);
}

TEST(ReachNotes, budget_lines_and_open_questions_are_read) {
  const std::vector recordings = {process({
      {{"kind", "cut"}, {"what", "budget"}},
      {{"kind", "run_on"}, {"count", 213}, {"peak_at", 40}, {"seconds", 16.5}},
      {{"kind", "looked"}, {"loader", 0}, {"samples", 5000}, {"of", 118287}, {"differ", true}},
      {{"kind", "open"}, {"text", "they differ"}},
      {{"kind", "coverage"},
       {"known", true},
       {"lines", 200},
       {"lines_run", 150},
       {"executed", {{"train.py", {{1, 90}}}}},
       {"unreached", {gap(212, "yes"), gap(300, "odd")}}},
  })};
  const model::Reach reach = read_reach(recordings);
  EXPECT_FALSE(reach.whole);
  EXPECT_TRUE(reach.watched);
  EXPECT_EQ(reach.batches, 213);
  EXPECT_EQ(reach.peak_at, 40);
  EXPECT_DOUBLE_EQ(reach.seconds, 16.5);
  EXPECT_DOUBLE_EQ(reach.lines_run.value(), 0.75);
  EXPECT_EQ(reach.looked, (std::vector<model::LookedAt>{{0, 5000, 118287, true}}));
  EXPECT_EQ(reach.open, (std::vector<std::string>{"they differ"}));
  ASSERT_EQ(reach.unreached.size(), 2u);
  EXPECT_EQ(reach.unreached[0].when, "every 1,000 steps");
  EXPECT_EQ(reach.unreached[1].card, model::UsesCard::kUnknown);
}

TEST(ReachNotes, what_another_process_executed_was_reached) {
  const json first = {{"kind", "coverage"}, {"known", true}, {"unreached", {gap(212, "yes"), gap(300, "yes")}}};
  const json second = {{"kind", "coverage"}, {"known", true}, {"executed", {{"train.py", {{200, 220}}}}}};
  const std::vector recordings = {process({first, {{"kind", "cut"}, {"what", "steps"}}}), process({second})};
  const model::Reach reach = read_reach(recordings);
  ASSERT_EQ(reach.unreached.size(), 1u);
  EXPECT_EQ(reach.unreached[0].line, 300);
}

TEST(ReachNotes, the_other_side_of_an_executed_line_stays_open) {
  const json side = {
      {"file", "train.py"}, {"line", 8}, {"when", "when step reaches 750"}, {"card", "yes"}, {"what", "other_side"}};
  const std::vector recordings = {
      process({{{"kind", "coverage"}, {"known", true}, {"executed", {{"train.py", {{1, 9}}}}}, {"unreached", {side}}},
               {{"kind", "cut"}, {"what", "steps"}}})};
  EXPECT_EQ(read_reach(recordings).unreached.size(), 1u);
}

TEST(ReachNotes, executed_lines_were_reached_in_whatever_words_they_are_waited_for) {
  json lines = gap(8, "yes");
  lines["why"] = "once step is 750";
  const std::vector recordings = {
      process({{{"kind", "coverage"}, {"known", true}, {"executed", {{"train.py", {{1, 9}}}}}, {"unreached", {lines}}},
               {{"kind", "cut"}, {"what", "steps"}}})};
  EXPECT_TRUE(read_reach(recordings).unreached.empty());
}

TEST(ReachNotes, a_part_of_an_executed_line_stays_open_until_another_process_came_to_that_part) {
  const json part = {{"file", "train.py"},     {"line", 8},     {"column", 20},
                     {"when", "if step == 9"}, {"card", "yes"}, {"what", "part"}};
  const json cut = {{"kind", "cut"}, {"what", "steps"}};
  const json first = {
      {"kind", "coverage"}, {"known", true}, {"executed", {{"train.py", {{1, 9}}}}}, {"unreached", {part}}};
  json second = {{"kind", "coverage"}, {"known", true}, {"parts", {{"train.py", {{8, 4}, {9, 20}}}}}};
  const auto reached = [&] { return read_reach(std::vector{process({first, cut}), process({second})}); };
  ASSERT_EQ(reached().unreached.size(), 1u);
  EXPECT_EQ(reached().unreached[0].column, 20);
  second["parts"]["train.py"].push_back({8, 20});
  EXPECT_TRUE(reached().unreached.empty());
}

TEST(ReachNotes, lines_that_one_process_could_not_watch_are_not_known) {
  const std::vector recordings = {process({{{"kind", "coverage"}, {"known", true}}}),
                                  process({{{"kind", "coverage"}, {"known", false}}})};
  EXPECT_FALSE(read_reach(recordings).watched);
}

TEST(ReachNotes, damaged_notes_are_no_reason_to_fail) {
  const std::vector recordings = {process({
      {{"kind", "coverage"}, {"unreached", "x"}, {"executed", {{"a.py", {{1}, {"x", 2}, 7}}}}, {"lines", -1}},
      {{"kind", "run_on"}, {"count", "many"}},
  })};
  EXPECT_EQ(read_reach(recordings).batches, 0);
  EXPECT_TRUE(read_executed(recordings).lines.at("a.py").empty());
}

}  // namespace
}  // namespace vramfit::facts
