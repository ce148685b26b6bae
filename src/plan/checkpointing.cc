#include "plan/checkpointing.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>

namespace vramfit::plan {
namespace {

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Bytes sum_saved(std::span<const model::Block> blocks) {
  Bytes sum;
  for (const model::Block& block : blocks) sum += block.saved;
  return sum;
}

// Bytes freed for each unit of work done twice. Blocks whose work was not counted are ordered by bytes alone.
double worth(const model::Block& block) {
  return static_cast<double>((block.saved - block.output).count()) / (block.forward_macs + 1.0);
}

}  // namespace

Bytes activation_peak(std::span<const model::Block> blocks, std::span<const std::string> checkpointed) {
  Bytes kept, peak;
  for (const model::Block& block : blocks) {
    peak = std::max(peak, kept + block.saved);
    kept += contains(checkpointed, block.name) ? block.output : block.saved;
  }
  return std::max(peak, kept);
}

const model::BlockLevel* find_level(const model::Job& job, std::span<const std::string> names) {
  for (const model::BlockLevel& level : job.levels) {
    const bool all_there = std::ranges::all_of(names, [&](const std::string& name) {
      return std::ranges::find(level.blocks, name, &model::Block::name) != level.blocks.end();
    });
    if (all_there) return &level;
  }
  return nullptr;
}

Bytes bytes_freed(const model::Job& job, std::span<const std::string> names) {
  const model::BlockLevel* level = find_level(job, names);
  return level == nullptr ? Bytes(0) : sum_saved(level->blocks) - activation_peak(level->blocks, names);
}

std::vector<std::vector<std::string>> growing_sets(const model::BlockLevel& level) {
  std::vector<model::Block> blocks;
  std::ranges::copy_if(level.blocks, std::back_inserter(blocks),
                       [](const model::Block& block) { return block.saved > block.output; });
  std::ranges::stable_sort(blocks, std::greater<>(), worth);
  std::vector<std::vector<std::string>> sets;
  for (std::size_t size = 1; size <= blocks.size();) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < size; ++i) names.push_back(blocks[i].name);
    sets.push_back(std::move(names));
    if (size == blocks.size()) break;
    size = std::min(size * 2, blocks.size());
  }
  return sets;
}

}  // namespace vramfit::plan
