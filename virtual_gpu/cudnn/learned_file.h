// Workspaces that `vramfit check --learn` read out of a recording of a real card.
#ifndef VRAMFIT_CUDNN_LEARNED_FILE_H
#define VRAMFIT_CUDNN_LEARNED_FILE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vramfit::cudnn {

struct LearnedWorkspace {
  int64_t taken = 0;    // of the plan that was taken
  int64_t largest = 0;  // of all plans that were tried
  friend bool operator==(const LearnedWorkspace&, const LearnedWorkspace&) = default;
};

// The workspaces by the key of a convolution. The file has a line for each: `taken`, `largest` and the key, parted by
// tabs. Lines of another shape, and sizes below 0, are left out.
std::unordered_map<std::string, LearnedWorkspace> parse_learned(std::string_view text);

}  // namespace vramfit::cudnn

#endif
