// A model's nodes, drawn together until a picture of them can be taken in: modules instead of what is in them, repeated
// blocks once ("Bottleneck x3"), a normalisation or activation with the layer before it.
#ifndef VRAMFIT_REPORT_PAGE_NETWORK_VIEW_H
#define VRAMFIT_REPORT_PAGE_NETWORK_VIEW_H

#include <string>
#include <vector>

#include "model/modules.h"
#include "report/page/network_layout.h"

namespace vramfit::report::page {

enum class BoxKind { kModule, kOperator, kEnd };  // kEnd: input, output, or what lies outside of the picture

struct NetworkBox {
  BoxKind kind = BoxKind::kModule;
  std::string title;              // relative to what is drawn
  std::string class_name;         // "Conv2d, BatchNorm2d, ReLU"; empty for operators and ends
  std::string inside;             // the module whose inside can be drawn by itself; empty: nothing more is in it
  int alike = 1;                  // blocks drawn as this one
  base::Bytes activations, held;  // of all of them
};

struct NetworkView {
  std::vector<NetworkBox> boxes;
  std::vector<Line> lines;  // each pair once
};

// The inside of one module. `module`: a row's name; that of a model draws its inputs and outputs too.
NetworkView view_network(const model::ModuleTable& table, const std::string& module);

// The names of the models in the table: rows that are below no other.
std::vector<std::string> model_names(const model::ModuleTable& table);

}  // namespace vramfit::report::page

#endif
