#include "grammar/complete.h"

#include <gtest/gtest.h>

namespace vramfit::grammar {
namespace {

using Words = std::vector<std::string>;

OptionGrammar option(std::string name, Value value, Words words = {}) {
  return {{std::move(name)}, "", true, value, std::move(words)};
}

VerbGrammar example() {
  VerbGrammar run{
      "run", "runs", {option("--gpu", Value::kCard), option("--files", Value::kWord, {"private", "shared"})}, {}};
  run.options.push_back({{"--verbose", "-v"}, "", false, Value::kText, {}});
  run.options.push_back(option("--json", Value::kFile));
  run.options.push_back(option("--only", Value::kWords, {"lora", "tiles"}));
  VerbGrammar show{"show", "", {option("number", Value::kRun)}, {}};
  VerbGrammar estimate{"estimate", "", {option("network", Value::kNetworkOrFile)}, {}};
  VerbGrammar sweep{
      "sweep", "", {option("--vary", Value::kVariable, {"batch=", "amp=off", "amp=bf16", "alloc=off", "gpu="})}, {}};
  VerbGrammar env{
      "env", "", {}, {VerbGrammar{"list", "", {}, {}}, VerbGrammar{"add", "", {option("packages", Value::kText)}, {}}}};
  return {"vramfit", "", {}, {run, show, env, estimate, sweep}};
}

const Sources kSources{[] {
                         return std::vector<Candidate>{{"rtx3090", "24 GB"}, {"rtx4090", ""}, {"t4", ""}};
                       },
                       [] {
                         return std::vector<Candidate>{{"resnet18", ""}, {"resnet50", ""}, {"vit_b_16", ""}};
                       },
                       [] {
                         return std::vector<Candidate>{{"12", "train.py"}, {"7", ""}};
                       }};

Words offered(const Words& words) {
  Words all;
  for (const Candidate& one : complete(example(), words, kSources).candidates) all.push_back(one.word);
  return all;
}

TEST(Complete, verbs_come_first) {
  EXPECT_EQ(offered({""}), (Words{"run", "show", "env", "estimate", "sweep"}));
  EXPECT_EQ(offered({"r"}), Words{"run"});
  EXPECT_EQ(offered({"env", ""}), (Words{"list", "add"}));
}

TEST(Complete, options_of_the_verb_that_was_chosen) {
  EXPECT_EQ(offered({"run", "--"}), (Words{"--gpu", "--files", "--verbose", "--json", "--only"}));
  EXPECT_EQ(offered({"run", "--fi"}), Words{"--files"});
  EXPECT_EQ(offered({"show", "--"}), Words{});
}

TEST(Complete, values_are_words_cards_runs_and_files) {
  EXPECT_EQ(offered({"run", "--files", ""}), (Words{"private", "shared"}));
  EXPECT_EQ(offered({"run", "--gpu", "rtx4"}), Words{"rtx4090"});
  EXPECT_EQ(offered({"run", "-v", "--gpu", "rtx3090,2xt"}), Words{"rtx3090,2xt4"});
  EXPECT_EQ(offered({"show", ""}), (Words{"12", "7"}));
  EXPECT_TRUE(complete(example(), {"run", "--json", ""}, kSources).files);
}

TEST(Complete, networks_are_names_or_files) {
  EXPECT_EQ(offered({"estimate", "resnet"}), (Words{"resnet18", "resnet50"}));
  EXPECT_TRUE(complete(example(), {"estimate", "./mo"}, kSources).files);
}

TEST(Complete, a_variable_is_a_name_and_its_values) {
  EXPECT_EQ(offered({"sweep", "--vary", ""}), (Words{"batch=", "amp=off", "amp=bf16", "alloc=off", "gpu="}));
  EXPECT_EQ(offered({"sweep", "--vary", "a"}), (Words{"amp=off", "amp=bf16", "alloc=off"}));
  EXPECT_EQ(offered({"sweep", "--vary", "amp=off,b"}), Words{"amp=off,bf16"});
  EXPECT_EQ(offered({"sweep", "--vary", "gpu=t4,rtx4"}), Words{"gpu=t4,rtx4090"});
  EXPECT_EQ(offered({"sweep", "--vary=gpu=rtx4"}), Words{"--vary=gpu=rtx4090"});
  EXPECT_EQ(offered({"sweep", "--vary", "batch=1"}), Words{}) << "any number may stand there";
}

TEST(Complete, values_stand_behind_a_sign_too) {
  EXPECT_EQ(offered({"run", "--gpu=rtx4"}), Words{"--gpu=rtx4090"});
  EXPECT_EQ(offered({"run", "--gpu=t4,2xrtx4"}), Words{"--gpu=t4,2xrtx4090"});
  EXPECT_EQ(offered({"run", "--files=p"}), Words{"--files=private"});
  EXPECT_TRUE(complete(example(), {"run", "--json="}, kSources).files);
  EXPECT_EQ(offered({"run", "--verbose="}), Words{}) << "a flag has no value";
  EXPECT_EQ(offered({"run", "--gup=rtx4"}), Words{});
}

TEST(Complete, several_words_have_commas_between) {
  EXPECT_EQ(offered({"run", "--only", ""}), (Words{"lora", "tiles"}));
  EXPECT_EQ(offered({"run", "--only", "lora,t"}), Words{"lora,tiles"});
  EXPECT_EQ(offered({"run", "--only=lora,t"}), Words{"--only=lora,tiles"});
  EXPECT_EQ(offered({"run", "--files", "private,"}), Words{});
}

TEST(Complete, a_flag_takes_no_value) { EXPECT_TRUE(complete(example(), {"run", "-v", ""}, kSources).files); }

TEST(Complete, the_jobs_own_command_is_files) {
  const Completion completion = complete(example(), {"run", "--gpu", "t4", "--", "py"}, kSources);
  EXPECT_TRUE(completion.files);
  EXPECT_TRUE(completion.candidates.empty());
}

TEST(Complete, an_unknown_verb_offers_nothing_of_another) { EXPECT_EQ(offered({"rn", "--g"}), Words{}); }

}  // namespace
}  // namespace vramfit::grammar
