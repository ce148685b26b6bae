// One forward of a model -> how data flows between its modules.
//
//   input -> conv1 -> bn1 ----------> layer1.0.bn3 --.
//                         \                           layer1.0:add -> ... -> output
//                          '-> layer1.0.downsample.1 '
//
// A node is a call of a module that calls no other, or an operator of a larger module that joins the outputs of several
// nodes or does matrix work. Any other operator is a remark on the edge that leads past it.
#ifndef VRAMFIT_LIVENESS_MODULE_GRAPH_H
#define VRAMFIT_LIVENESS_MODULE_GRAPH_H

#include <map>
#include <string>
#include <vector>

#include "liveness/module_trace.h"

namespace vramfit::liveness {

enum class NodeKind { kInput, kModule, kOperator, kOutput };

struct GraphNode {
  NodeKind kind = NodeKind::kModule;
  int module = -1;        // of the model's list: the caller's for an operator
  std::string operation;  // of an operator; of an output, its name
  int call = 1;           // from 1, of a module or of an operator of one module
  Bytes activations;      // alive at the forward's end, its own and of what passes on its output
  Bytes made;             // of these, what it returns: the last it wrote
};

struct GraphEdge {
  int from = 0, to = 0;
  Bytes bytes;
  std::vector<std::string> via;
};

struct ModuleGraph {
  std::vector<GraphNode> nodes;  // in the order in which they began
  std::vector<GraphEdge> edges;  // each pair of nodes once, sorted
};

// A module that is called more often than kMostCalls (a recurrent cell) is one node, which then feeds itself.
inline constexpr int kMostCalls = 16;

ModuleGraph build_module_graph(const ModuleTrace& trace);

// The node's name: "layer1.0.relu#2", "layer1.0:add", "input", "output".
std::string node_name(const GraphNode& node, const ListedModel& model);

}  // namespace vramfit::liveness

#endif
