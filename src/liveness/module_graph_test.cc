#include "liveness/module_graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "liveness/testing/traced_models.h"

namespace vramfit::liveness {
namespace {

using testing::Traced;

std::vector<std::string> lines_of(const Traced& traced) {
  const ModuleGraph graph = build_module_graph(traced.trace);
  std::vector<std::string> lines;
  for (const GraphEdge& edge : graph.edges) {
    std::string line = node_name(graph.nodes[static_cast<std::size_t>(edge.from)], traced.model) + " -> " +
                       node_name(graph.nodes[static_cast<std::size_t>(edge.to)], traced.model);
    for (const std::string& name : edge.via) line += " " + name;
    lines.push_back(line);
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(ModuleGraph, two_ways_meet_at_an_operator) {
  EXPECT_EQ(lines_of(testing::two_branches()),
            (Lines{"input -> stem", "stem -> a1", "stem -> b1", "a1 -> a2", "a2 -> :add", "b1 -> :add relu",
                   ":add -> head", "head -> output"}));
}

TEST(ModuleGraph, activations_belong_to_who_made_them) {
  const ModuleGraph graph = build_module_graph(testing::two_branches().trace);
  std::int64_t all = 0;
  for (const GraphNode& node : graph.nodes) all += node.activations.count();
  EXPECT_EQ(all, 100 + 200 + 300 + 400 + 450 + 500) << "each storage once";
  const auto b1 = std::ranges::find_if(graph.nodes, [](const GraphNode& node) { return node.module == 4; });
  EXPECT_EQ(b1->activations, Bytes(450)) << "what is made of its output on the way to the join, too";
}

TEST(ModuleGraph, an_operator_in_place_passes_on_the_same_storage) {
  Traced traced = testing::two_branches();
  traced.trace.operators[2].reads = {1};  // a1 writes into stem's output
  traced.trace.operators[2].writes = {1};
  traced.trace.operators[3].reads = {1};
  traced.trace.operators[4].reads = {1};  // b1 reads what a1 left there
  const Lines lines = lines_of(traced);
  EXPECT_NE(std::ranges::find(lines, "a1 -> b1"), lines.end());
  EXPECT_EQ(std::ranges::find(lines, "stem -> b1"), lines.end());
}

TEST(ModuleGraph, a_module_that_is_called_again_is_another_node) {
  const Lines lines = lines_of(testing::recurrent(3));
  EXPECT_EQ(lines, (Lines{"input -> cell", "input -> cell#2", "input -> cell#3", "cell -> cell#2", "cell#2 -> cell#3",
                          "cell#3 -> output"}));
}

TEST(ModuleGraph, a_recurrent_cell_with_many_calls_feeds_itself) {
  EXPECT_EQ(lines_of(testing::recurrent(kMostCalls + 1)), (Lines{"input -> cell", "cell -> cell", "cell -> output"}));
}

TEST(ModuleGraph, weights_lead_nowhere) {
  Traced traced = testing::two_branches();
  traced.trace.operators[0].reads.push_back(9);  // a counter that is changed in place
  traced.trace.operators[0].writes.push_back(9);
  traced.trace.operators[2].reads.push_back(9);
  const Lines lines = lines_of(traced);
  EXPECT_EQ(lines, lines_of(testing::two_branches()));
}

}  // namespace
}  // namespace vramfit::liveness
