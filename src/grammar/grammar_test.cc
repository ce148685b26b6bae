#include "grammar/grammar.h"

#include <gtest/gtest.h>

namespace vramfit::grammar {
namespace {

VerbGrammar small() {
  VerbGrammar run{"run", "", {}, {}};
  run.options.push_back({{"--gpu", "-g"}, "", true, Value::kCard, {}});
  run.options.push_back({{"--vary"}, "", true, Value::kText, {}});
  run.options.push_back({{"--verbose", "-v"}, "", false, Value::kText, {}});
  return {"vramfit",
          "",
          {{{"--version"}, "", false, Value::kText, {}}},
          {run, {"runs", "", {}, {}}, {"watch", "", {}, {}}}};
}

TEST(Grammar, a_mistyped_verb_gets_its_nearest) {
  EXPECT_EQ(explain_mistyped(small(), {"wathc"}), "there is no verb \"wathc\"; did you mean watch?");
  EXPECT_EQ(explain_mistyped(small(), {"rnu", "--gpu", "t4"}), "there is no verb \"rnu\"; did you mean run?");
  EXPECT_EQ(explain_mistyped(small(), {"quantize"}), "there is no verb \"quantize\"");
}

TEST(Grammar, a_mistyped_option_gets_its_nearest) {
  EXPECT_EQ(explain_mistyped(small(), {"hlep"}), "there is no verb \"hlep\"; did you mean --help?");
  EXPECT_EQ(explain_mistyped(small(), {"version"}), "there is no verb \"version\"; did you mean --version?");
  EXPECT_EQ(explain_mistyped(small(), {"run", "--gup", "t4"}), "there is no option --gup of run; did you mean --gpu?");
  EXPECT_EQ(explain_mistyped(small(), {"run", "-gpu", "t4"}), "there is no option -gpu of run; did you mean --gpu?");
  EXPECT_EQ(explain_mistyped(small(), {"run", "--gpus=t4"}), "there is no option --gpus of run; did you mean --gpu?");
  EXPECT_EQ(explain_mistyped(small(), {"--vresion"}), "there is no option --vresion; did you mean --version?");
}

TEST(Grammar, a_value_that_looks_like_an_option_is_none) {
  EXPECT_EQ(explain_mistyped(small(), {"run", "--vary", "--crop-size=1,2", "-v", "-j4", "-1"}), "");
}

TEST(Grammar, words_that_are_known_need_no_explanation) {
  EXPECT_EQ(explain_mistyped(small(), {}), "");
  EXPECT_EQ(explain_mistyped(small(), {"run", "--gpu", "t4", "--verbose"}), "");
}

TEST(Grammar, reading_stops_at_the_option_that_awaits_its_value) {
  const VerbGrammar all = small();
  const Reached reached = read_words(all, {"run", "-v", "one", "--gpu"});
  EXPECT_EQ(reached.verb->name, "run");
  ASSERT_NE(reached.awaits, nullptr);
  EXPECT_EQ(reached.awaits->names.front(), "--gpu");
  EXPECT_EQ(reached.positionals, 1u);
  EXPECT_EQ(read_words(all, {"run", "--gpu=t4"}).awaits, nullptr);
}

}  // namespace
}  // namespace vramfit::grammar
