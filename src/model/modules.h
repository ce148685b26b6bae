// What `vramfit run --modules` tells of each module of a job's models, and how data flows between them.
#ifndef VRAMFIT_MODEL_MODULES_H
#define VRAMFIT_MODEL_MODULES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

using base::Bytes;

// One forward (and, in training, backward) of a model, as far as one module took part; the modules below it included.
struct ModuleUse {
  std::string phase;  // train, validate, test
  std::int64_t calls = 0;
  std::vector<std::string> inputs, outputs;  // of its first call: "8x3x224x224 float32"
  double forward_flops = 0;                  // a multiply-add is two, as torch.utils.flop_counter counts
  double backward_flops = 0;                 // what checkpointing computes again is among them
  Bytes activations;                         // of what its forward allocated, what still lived at the model's end
  Bytes output;                              // of all calls
  Bytes peak_rise;                           // the most that one call's forward needed above what there was before it
  Bytes workspace;                           // the largest that a convolution of it asked for
  std::optional<double> forward_seconds;     // estimated: a roofline on the card's figures; none without a card
  friend bool operator==(const ModuleUse&, const ModuleUse&) = default;
};

struct ModuleRow {
  std::string name;  // as in named_modules(); empty: the model itself; "Critic/net.0" for a model that is not the first
  std::string class_name;
  std::int64_t parameters = 0;  // of it and everything below, each once
  Bytes parameter_bytes, buffer_bytes, gradient_bytes, optimizer_bytes;
  std::vector<ModuleUse> uses;  // at most one a phase
  friend bool operator==(const ModuleRow&, const ModuleRow&) = default;
};

// A module without modules below it, or an operator that joins data between such modules; input and output of a model.
struct ModuleNode {
  std::string id;         // "layer1.0.relu#2" (its second call), "layer1.0:add", "input", "output"
  std::string module;     // the row it belongs to
  std::string operation;  // "add", "cat"; empty for a module
  Bytes activations;      // as ModuleUse::activations, with operators between this node and the next
  Bytes held;             // parameters, buffers, gradients and optimizer state; at a module's first node
  friend bool operator==(const ModuleNode&, const ModuleNode&) = default;
};

struct ModuleEdge {
  std::size_t from = 0, to = 0;  // of ModuleTable::nodes
  Bytes bytes;                   // of the tensors that go along it
  std::vector<std::string> via;  // operators on the way that join nothing: "relu", "mean"
  friend bool operator==(const ModuleEdge&, const ModuleEdge&) = default;
};

enum class BranchKind {
  kAdded,         // its output is added to others, or goes into a sum of them
  kConcatenated,  // its output is concatenated with others
  kGate,          // multiplies what it was computed from
  kOutput         // one of several outputs of the model
};
std::string_view to_string(BranchKind kind);  // "added", "concatenated", "gate", "output"

// What would go if one way into a join, or one output, were dropped.
struct Branch {
  std::string name;                  // "layer1.0: conv1 ... bn3"
  std::vector<std::string> modules;  // the fewest names that cover it
  BranchKind kind = BranchKind::kAdded;
  std::string joins;           // the node at which it ends: "layer1.0:add"
  bool training_only = false;  // no evaluation ran any of it
  std::int64_t parameters = 0;
  Bytes weights, gradients, optimizer, activations;  // weights with buffers
  int alike = 1;                                     // so many of the same size and place in a repeated block
  Bytes total() const { return weights + gradients + optimizer + activations; }
  friend bool operator==(const Branch&, const Branch&) = default;
};

struct ModuleTable {
  std::vector<ModuleRow> rows;       // in the order of named_modules()
  std::vector<ModuleNode> nodes;     // in the order in which they ran
  std::vector<ModuleEdge> edges;     // by `from`, then `to`
  std::vector<Branch> branches;      // largest first
  std::vector<std::string> remarks;  // what could not be seen, in sentences
  friend bool operator==(const ModuleTable&, const ModuleTable&) = default;
};

// The use in that phase; nullptr when it was not seen there.
const ModuleUse* find_use(const ModuleRow& row, std::string_view phase);

// What the row holds without its activations.
Bytes held_bytes(const ModuleRow& row);

// Parts that are numbers become stars: "h.0.attn" -> "h.*.attn". Blocks that are alike then have one name.
std::string without_numbers(std::string_view name);

// "train", or the first phase in which anything ran; empty when nothing did.
std::string main_phase(const ModuleTable& table);

}  // namespace vramfit::model

#endif
