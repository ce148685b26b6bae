#include "liveness/module_branches.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "liveness/testing/traced_models.h"

namespace vramfit::liveness {
namespace {

using model::Branch;
using model::BranchKind;
using testing::Traced;

std::vector<Branch> branches_of(const Traced& traced, const std::vector<bool>& evaluated = {}) {
  std::vector<model::ModuleRow> rows;
  for (const ListedModule& module : traced.model.modules) {
    rows.push_back({module.name,
                    module.class_name,
                    module.parameters,
                    module.parameter_bytes,
                    module.buffer_bytes,
                    module.gradient_bytes,
                    module.optimizer_bytes,
                    {}});
  }
  return find_branches(build_module_graph(traced.trace), traced.model, rows, evaluated);
}

// Cutting a2 -> add leaves a1 and a2 without use; the join is then not needed either, for b1's way alone is its output.
TEST(ModuleBranches, what_leads_nowhere_once_a_way_into_a_join_is_cut_is_a_branch) {
  const auto branches = branches_of(testing::two_branches());
  ASSERT_EQ(branches.size(), 2u);
  const Branch& longer = branches[0];
  EXPECT_EQ(longer.name, "a1, a2");
  EXPECT_EQ(longer.modules, (std::vector<std::string>{"a1", "a2"}));
  EXPECT_EQ(longer.joins, ":add");
  EXPECT_EQ(longer.kind, BranchKind::kAdded);
  EXPECT_EQ(longer.weights, Bytes(2000 + 3000));
  EXPECT_EQ(longer.gradients, Bytes(2000 + 3000));
  EXPECT_EQ(longer.optimizer, Bytes(4000 + 6000));
  EXPECT_EQ(longer.activations, Bytes(200 + 300 + 400)) << "with the sum, for what b1 gives is kept anyway";
  EXPECT_EQ(branches[1].name, "b1");
  EXPECT_EQ(branches[1].activations, Bytes(450 + 400));
}

TEST(ModuleBranches, a_concatenation_only_gets_shorter) {
  Traced traced = testing::two_branches();
  traced.trace.operators[6].name = "cat";
  const auto branches = branches_of(traced);
  ASSERT_EQ(branches.size(), 2u);
  EXPECT_EQ(branches[0].kind, BranchKind::kConcatenated);
  EXPECT_EQ(branches[0].activations, Bytes(200 + 300 + 400 / 2)) << "both ways are as wide";
}

TEST(ModuleBranches, a_product_is_a_branch_only_where_it_gates_its_own_source) {
  Traced traced = testing::two_branches();
  traced.trace.operators[6].name = "mul";
  EXPECT_TRUE(branches_of(traced).empty()) << "neither way is computed from the other";
  traced.trace.operators[5] = testing::operation(0, "mul", {1, 4}, {5});  // stem times b1, which stem feeds
  traced.trace.operators[6].name = "add";
  const auto branches = branches_of(traced);
  const auto gate = std::ranges::find(branches, BranchKind::kGate, &Branch::kind);
  ASSERT_NE(gate, branches.end());
  EXPECT_EQ(gate->name, "b1");
}

TEST(ModuleBranches, a_way_that_alone_brings_the_input_is_none) {
  Traced traced = testing::two_branches();
  traced.trace.operators[4].reads = {};  // b1 reads nothing: positions
  const auto branches = branches_of(traced);
  ASSERT_EQ(branches.size(), 1u);
  EXPECT_EQ(branches[0].name, "b1");
}

TEST(ModuleBranches, of_several_outputs_only_those_are_branches_that_no_evaluation_wants) {
  Traced traced = testing::two_branches();
  traced.trace.operators[6].reads = {3};  // no join: b1 ends at an output of its own
  traced.trace.outputs.push_back({5, "auxiliary", Bytes(450)});
  const auto branches = branches_of(traced, {true, true, true, true, false, true});
  ASSERT_EQ(branches.size(), 1u);
  EXPECT_EQ(branches[0].name, "b1");
  EXPECT_EQ(branches[0].kind, BranchKind::kOutput);
  EXPECT_TRUE(branches[0].training_only);
  EXPECT_EQ(branches[0].joins, "output auxiliary");
}

TEST(ModuleBranches, alike_branches_of_repeated_blocks_are_one_line) {
  // x -> b.0 -> add -> b.1 -> add -> ...: residual blocks
  Traced traced;
  traced.model.modules = {{"", "Net"}, {"b", "ModuleList"}};
  ModuleTrace& trace = traced.trace;
  trace.phase = "train";
  trace.frames.push_back({0, -1, 0, 100});
  trace.sizes.assign(20, Bytes(64));
  trace.inputs = {0};
  int last = 0;
  for (int block = 0; block < 4; ++block) {
    traced.model.modules.push_back({"b." + std::to_string(block), "Linear", 1, Bytes(64)});
    trace.frames.push_back({block + 2, 0, 0, 0});
    trace.operators.push_back(testing::operation(trace.frames.size() - 1, "addmm", {last}, {last + 1}));
    trace.operators.push_back(testing::operation(0, "add", {last, last + 1}, {last + 2}));
    trace.alive[last + 1] = trace.alive[last + 2] = Bytes(128);
    last += 2;
  }
  trace.outputs = {{last, "input", Bytes(64)}};
  const auto branches = branches_of(traced);
  ASSERT_EQ(branches.size(), 2u) << "of the first, what it is added to was not made by the model";
  EXPECT_EQ(branches[0].alike + branches[1].alike, 4);
}

TEST(ModuleBranches, nothing_is_found_in_nothing) { EXPECT_TRUE(find_branches({}, {}, {}, {}).empty()); }

}  // namespace
}  // namespace vramfit::liveness
