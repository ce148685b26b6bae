#include "facts/block_levels.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace vramfit::facts {
namespace {

using base::Bytes;
using model::BlockLevel;
using model::ModuleBlock;

constexpr std::size_t kMostBlocks = 400;
constexpr int kMostLevels = 8;

bool is_inside(const std::string& name, const std::string& outer) {
  return name.size() > outer.size() && name.starts_with(outer) && name[outer.size()] == '.';
}

// The modules inside `outer` (all for an empty name) that are inside no other one of them.
std::vector<ModuleBlock> find_parts(const std::vector<ModuleBlock>& modules, const std::string& outer) {
  std::vector<ModuleBlock> inside;
  std::ranges::copy_if(modules, std::back_inserter(inside),
                       [&](const ModuleBlock& block) { return outer.empty() || is_inside(block.name, outer); });
  std::vector<ModuleBlock> parts;
  for (const ModuleBlock& block : inside) {
    const bool nested =
        std::ranges::any_of(inside, [&](const ModuleBlock& other) { return is_inside(block.name, other.name); });
    if (!nested) parts.push_back(block);
  }
  return parts;
}

bool is_worth_splitting(const ModuleBlock& block, const std::vector<ModuleBlock>& parts) {
  if (parts.empty()) return false;
  Bytes saved;
  for (const ModuleBlock& part : parts) saved += part.saved;
  return saved + saved >= block.saved;
}

}  // namespace

std::vector<BlockLevel> build_levels(const std::vector<ModuleBlock>& modules) {
  std::vector<BlockLevel> levels;
  BlockLevel level{find_parts(modules, "")};
  for (int depth = 1; depth <= kMostLevels && !level.blocks.empty(); ++depth) {
    levels.push_back(level);
    BlockLevel finer;
    bool split = false;
    for (const ModuleBlock& block : level.blocks) {
      std::vector<ModuleBlock> parts = find_parts(modules, block.name);
      const bool worth = is_worth_splitting(block, parts);
      split = split || worth;
      if (!worth) parts = {block};
      std::ranges::move(parts, std::back_inserter(finer.blocks));
    }
    if (!split || finer.blocks.size() > kMostBlocks) break;
    level = std::move(finer);
  }
  return levels;
}

}  // namespace vramfit::facts
