// Traces of small models, as the hooks would have noted them.
#ifndef VRAMFIT_LIVENESS_TESTING_TRACED_MODELS_H
#define VRAMFIT_LIVENESS_TESTING_TRACED_MODELS_H

#include "liveness/module_trace.h"

namespace vramfit::liveness::testing {

struct Traced {
  ListedModel model;
  ModuleTrace trace;
};

inline TraceOperator operation(std::size_t frame, std::string name, std::vector<int> reads, std::vector<int> writes) {
  return {frame, std::move(name), std::move(reads), std::move(writes), 0, 0, model::Number::kF32, 0};
}

//   input -> stem -> a1 -> a2 ---- add -> head -> output
//              \---- b1 - relu ----/
inline Traced two_branches() {
  Traced traced;
  traced.model.modules = {{"", "Net"},      {"stem", "Conv2d"}, {"a1", "Conv2d"},
                          {"a2", "Conv2d"}, {"b1", "Conv2d"},   {"head", "Linear"}};
  for (std::size_t i = 1; i < traced.model.modules.size(); ++i) {
    ListedModule& module = traced.model.modules[i];
    module.parameters = static_cast<std::int64_t>(i);
    module.parameter_bytes = module.gradient_bytes = Bytes(1000 * static_cast<std::int64_t>(i));
    module.optimizer_bytes = Bytes(2000 * static_cast<std::int64_t>(i));
  }
  ModuleTrace& trace = traced.trace;
  trace.phase = "train";
  trace.frames.push_back({0, -1, 0, 100, Bytes(500), {"2x4 float32"}, {"2x8 float32"}});
  for (int module = 1; module <= 5; ++module) trace.frames.push_back({module, 0, 10 * module, 10 * module + 5, {}});
  trace.sizes.assign(10, Bytes(64));
  trace.inputs = {0};
  trace.operators = {operation(1, "convolution", {0}, {1}), operation(1, "relu_", {1}, {1}),
                     operation(2, "convolution", {1}, {2}), operation(3, "convolution", {2}, {3}),
                     operation(4, "convolution", {1}, {4}), operation(0, "relu", {4}, {5}),
                     operation(0, "add", {3, 5}, {6}),      operation(5, "addmm", {6}, {7})};
  // b1's own output is not kept, what relu made of it is.
  trace.alive = {{1, Bytes(100)}, {2, Bytes(200)}, {3, Bytes(300)}, {5, Bytes(450)}, {6, Bytes(400)}, {7, Bytes(500)}};
  trace.outputs = {{7, "input", Bytes(500)}};
  return traced;
}

// One cell, called again and again with the input and what it gave before.
inline Traced recurrent(int calls) {
  Traced traced;
  traced.model.modules = {{"", "Rnn"}, {"cell", "LSTMCell"}};
  ModuleTrace& trace = traced.trace;
  trace.phase = "train";
  trace.frames.push_back({0, -1, 0, 100});
  trace.sizes.assign(static_cast<std::size_t>(calls) + 1, Bytes(8));
  trace.inputs = {0};
  for (int call = 1; call <= calls; ++call) {
    trace.frames.push_back({1, 0, call, call});
    std::vector<int> reads = {0};
    if (call > 1) reads.push_back(call - 1);
    trace.operators.push_back(operation(static_cast<std::size_t>(call), "addmm", reads, {call}));
  }
  trace.outputs = {{calls, "input", Bytes(8)}};
  return traced;
}

}  // namespace vramfit::liveness::testing

#endif
