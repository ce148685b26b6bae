// Tables of modules as values, for the tests of what shows them.
#ifndef VRAMFIT_REPORT_TESTING_MODULE_TABLES_H
#define VRAMFIT_REPORT_TESTING_MODULE_TABLES_H

#include <algorithm>
#include <string>

#include "model/modules.h"

namespace vramfit::report::testing {

//   input -> stem (conv, bn, relu) -> [conv -> add] x blocks -> head -> output
inline model::ModuleTable residual_network(int blocks) {
  using base::Bytes;
  model::ModuleTable table;
  const auto row = [&](const std::string& name, const std::string& class_name) {
    const auto depth = name.empty() ? 0 : 1 + std::ranges::count(name, '.');
    const model::ModuleUse use{.phase = "train",
                               .calls = class_name == "ModuleList" ? 0 : 1,
                               .inputs = {"8x64x32x32 float32"},
                               .outputs = {"8x64x32x32 float32"},
                               .forward_flops = 4e9,
                               .backward_flops = 8e9,
                               .activations = Bytes::mib(100 - 10 * depth),
                               .output = Bytes::mib(32),
                               .peak_rise = Bytes::mib(80),
                               .forward_seconds = 0.002};
    table.rows.push_back({name, class_name, 1000, Bytes::mib(4), Bytes(16), Bytes::mib(4), Bytes::mib(8), {use}});
  };
  const auto node = [&](const std::string& id, const std::string& module, const std::string& operation = "") {
    table.nodes.push_back({id, module, operation, Bytes::mib(10), operation.empty() ? Bytes::mib(3) : Bytes()});
    return table.nodes.size() - 1;
  };
  const auto line = [&](std::size_t from, std::size_t to) { table.edges.push_back({from, to, Bytes::mib(10), {}}); };
  for (const auto& [name, class_name] :
       {std::pair("", "Net"), {"stem", "Conv2d"}, {"norm", "BatchNorm2d"}, {"act", "ReLU"}, {"blocks", "ModuleList"}}) {
    row(name, class_name);
  }
  std::size_t last = node("input", "", "input");
  for (const char* name : {"stem", "norm", "act"}) {
    const std::size_t next = node(name, name);
    line(last, next);
    last = next;
  }
  for (int i = 0; i < blocks; ++i) {
    const std::string name = "blocks." + std::to_string(i);
    row(name, "Block");
    row(name + ".conv", "Conv2d");
    const std::size_t convolution = node(name + ".conv", name + ".conv"), sum = node(name + ":add", name, "add");
    line(last, convolution);
    line(last, sum);
    line(convolution, sum);
    last = sum;
  }
  row("head", "Linear");
  const std::size_t head = node("head", "head"), output = node("output", "", "output");
  line(last, head);
  line(head, output);
  table.branches = {{.name = "blocks.0.conv",
                     .modules = {"blocks.0.conv"},
                     .kind = model::BranchKind::kAdded,
                     .joins = "blocks.0:add",
                     .parameters = 1000,
                     .weights = Bytes::mib(4),
                     .gradients = Bytes::mib(4),
                     .optimizer = Bytes::mib(8),
                     .activations = Bytes::mib(20),
                     .alike = blocks}};
  table.remarks = {"something was not seen"};
  return table;
}

}  // namespace vramfit::report::testing

#endif
