// Sums per module, folded up the tree of dotted names until few enough rows are left to be read.
//
//   backbone.layer1.0.conv1  10       backbone.layer1   30
//   backbone.layer1.0.conv2  12  -->  backbone.layer2   18
//   backbone.layer1.1.conv1   8
//   backbone.layer2.0.conv1  18
#ifndef VRAMFIT_LIVENESS_MODULE_TREE_H
#define VRAMFIT_LIVENESS_MODULE_TREE_H

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace vramfit::liveness {

struct ModuleSum {
  base::Bytes bytes;
  std::int64_t blocks = 0;
  std::map<std::string, base::Bytes> lines;  // the script's lines, with their bytes
};

using ModuleSums = std::map<std::string, ModuleSum>;

// Cuts every name to the greatest common depth that leaves at most `rows` names (depth 1 at least).
ModuleSums fold_modules(const ModuleSums& sums, std::size_t rows);

// The first `depth` parts of a dotted name.
std::string cut_name(const std::string& name, std::size_t depth);

// The name without the parts that wrappers of blocks (FSDP, checkpoint_wrapper, torch.compile) put between a block and
// what it holds: "layers.0._fsdp_wrapped_module.fc" is the script's own "layers.0.fc".
std::string unwrapped_name(std::string_view name);

}  // namespace vramfit::liveness

#endif
