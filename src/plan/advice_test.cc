#include "plan/advice.h"

#include <gtest/gtest.h>

#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

model::ModuleRow convolution(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t side) {
  model::ModuleRow row;
  row.class_name = "Conv2d";
  row.parameters = in * out * kernel;
  row.parameter_bytes = Bytes(4 * row.parameters);
  row.optimizer_bytes = Bytes(8 * row.parameters);
  model::ModuleUse use;
  use.phase = "train";
  use.inputs = {"8x" + std::to_string(in) + "x" + std::to_string(side) + "x" + std::to_string(side) + " float32"};
  use.outputs = {"8x" + std::to_string(out) + "x" + std::to_string(side) + "x" + std::to_string(side) + " float32"};
  row.uses = {use};
  return row;
}

std::string all_of(const std::vector<std::string>& advice) {
  std::string text;
  for (const std::string& one : advice) text += one + "\n";
  return text;
}

TEST(Advice, names_branches_that_only_train_first) {
  model::ModuleTable modules;
  model::Branch main, aux, minor;
  main.name = "trunk.right";
  main.joins = "trunk:add";
  main.activations = Bytes::mib(500);
  aux.name = "heads.1";
  aux.training_only = true;
  aux.weights = Bytes::mib(10);
  aux.activations = Bytes::mib(100);
  minor.name = "gate";
  minor.activations = Bytes::mib(1);
  modules.branches = {main, aux, minor};
  const auto advice = find_advice(example_job(), example_target(), &modules);
  EXPECT_EQ(advice.at(0),
            "without heads.1, which no evaluation uses, the training would hold less by 110 MiB: 10 MiB of weights, "
            "gradients and optimizer state, 100 MiB of activations");
  EXPECT_EQ(advice.at(1),
            "without trunk.right (added at trunk:add) it would hold less by 500 MiB: 0 B of weights, gradients and "
            "optimizer state, 500 MiB of activations; another network");
  EXPECT_EQ(all_of(advice).find("gate"), std::string::npos);
}

TEST(Advice, separable_convolutions_trade_weights_for_activations) {
  model::ModuleTable modules;
  modules.rows = {convolution(1024, 1024, 9, 7), convolution(1024, 1024, 1, 7)};
  const std::string saves = all_of(find_advice(example_job(), example_target(), &modules));
  EXPECT_NE(saves.find("in place of 1 of 3 x 3 and more"), std::string::npos) << saves;
  EXPECT_NE(saves.find("it would free about 94 MiB in all"), std::string::npos) << saves;
  modules.rows = {convolution(1024, 1024, 9, 112)};
  const std::string needs = all_of(find_advice(example_job(), example_target(), &modules));
  EXPECT_NE(needs.find("more in all: it saves arithmetic, not memory"), std::string::npos) << needs;
}

TEST(Advice, tells_what_managed_memory_would_move_where_it_does_not_fit) {
  const auto advice = find_advice(example_job(), example_target(2048), nullptr);
  ASSERT_EQ(advice.size(), 1U);  // 2920 and 300 of context on 2048
  EXPECT_NE(advice[0].find("would keep 1172 MiB of 3.14 GiB in the host's memory"), std::string::npos) << advice[0];
  EXPECT_TRUE(find_advice(example_job(), example_target(8192), nullptr).empty());
  EXPECT_NE(advice[0].find("s or more beside a step of about"), std::string::npos) << advice[0];
  model::Job job = example_job();
  for (model::PhaseFacts& phase : job.phases) phase.steps = 0;  // a script that updates its weights itself
  EXPECT_EQ(find_advice(job, example_target(2048), nullptr)[0].find("beside a step"), std::string::npos);
}

TEST(Advice, passes_on_what_the_hooks_saw_and_names_a_teacher) {
  model::Job job = example_job();
  job.advice = {"masks take 3 MiB"};
  job.teacher = model::TeacherFacts{"BigNet", Bytes::mib(400), true};
  const auto advice = find_advice(job, example_target(8192), nullptr);
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_EQ(advice[0], "masks take 3 MiB");
  EXPECT_NE(advice[1].find("(BigNet) hold 400 MiB"), std::string::npos) << advice[1];
}

}  // namespace
}  // namespace vramfit::plan
