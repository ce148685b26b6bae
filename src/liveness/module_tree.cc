#include "liveness/module_tree.h"

#include <algorithm>
#include <array>

namespace vramfit::liveness {

namespace {

constexpr std::array<std::string_view, 3> kWrapped = {"_fsdp_wrapped_module", "_checkpoint_wrapped_module",
                                                      "_orig_mod"};

}  // namespace

std::string cut_name(const std::string& name, std::size_t depth) {
  std::size_t end = 0;
  for (std::size_t part = 0; part < depth; ++part) {
    end = name.find('.', part == 0 ? 0 : end + 1);
    if (end == std::string::npos) return name;
  }
  return name.substr(0, end);
}

std::string unwrapped_name(std::string_view name) {
  std::string own;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('.'), name.size());
    const std::string_view part = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    if (std::ranges::find(kWrapped, part) != kWrapped.end()) continue;
    if (!own.empty()) own += '.';
    own += part;
  }
  return own;
}

ModuleSums fold_modules(const ModuleSums& sums, std::size_t rows) {
  std::size_t depth = 1;
  for (const auto& [name, sum] : sums) {
    depth = std::max(depth, 1 + static_cast<std::size_t>(std::count(name.begin(), name.end(), '.')));
  }
  ModuleSums folded = sums;
  while (folded.size() > rows && depth > 1) {
    --depth;
    folded.clear();
    for (const auto& [name, sum] : sums) {
      ModuleSum& into = folded[cut_name(name, depth)];
      into.bytes += sum.bytes;
      into.blocks += sum.blocks;
      for (const auto& [line, bytes] : sum.lines) into.lines[line] += bytes;
    }
  }
  return folded;
}

}  // namespace vramfit::liveness
