#include "plan/checkpointing.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>

namespace vramfit::plan {
namespace {

bool contains(std::span<const std::string> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Bytes sum_saved(std::span<const model::ModuleBlock> blocks) {
  Bytes sum;
  for (const model::ModuleBlock& block : blocks) sum += block.saved;
  return sum;
}

// Bytes freed for each unit of work done twice. Blocks whose work was not counted are ordered by bytes alone.
double worth(const model::ModuleBlock& block) {
  return static_cast<double>((block.saved - block.output).count()) / (block.forward_macs + 1.0);
}

}  // namespace

Bytes activation_peak(std::span<const model::ModuleBlock> blocks, std::span<const std::string> checkpointed) {
  Bytes kept, peak;
  for (const model::ModuleBlock& block : blocks) {
    const bool is_again = contains(checkpointed, block.name);
    const Bytes of_call(block.saved.count() / std::max<std::int64_t>(block.calls, 1));
    peak = std::max(peak, kept + (is_again ? std::min(block.output + of_call, block.saved) : block.saved));
    kept += is_again ? block.output : block.saved;
  }
  return std::max(peak, kept);
}

const model::BlockLevel* find_level(const model::Job& job, std::span<const std::string> names) {
  for (const model::BlockLevel& level : job.levels) {
    const bool all_there = std::ranges::all_of(names, [&](const std::string& name) {
      return std::ranges::find(level.blocks, name, &model::ModuleBlock::name) != level.blocks.end();
    });
    if (all_there) return &level;
  }
  return nullptr;
}

Bytes bytes_freed(const model::Job& job, std::span<const std::string> names) {
  const model::BlockLevel* level = find_level(job, names);
  return level == nullptr ? Bytes(0) : sum_saved(level->blocks) - activation_peak(level->blocks, names);
}

std::vector<std::string> order_by_worth(const model::BlockLevel& level) {
  std::vector<model::ModuleBlock> blocks;
  std::ranges::copy_if(level.blocks, std::back_inserter(blocks),
                       [](const model::ModuleBlock& block) { return block.saved > block.output; });
  std::ranges::stable_sort(blocks, std::greater<>(), worth);
  std::vector<std::string> names;
  for (model::ModuleBlock& block : blocks) names.push_back(std::move(block.name));
  return names;
}

std::vector<std::size_t> growing_sizes(std::size_t blocks) {
  std::set<std::size_t> sizes;
  for (std::size_t size = 1; size < blocks; size *= 2) sizes.insert(size);
  const auto root = static_cast<std::size_t>(std::lround(std::sqrt(static_cast<double>(blocks))));
  for (const std::size_t size : {root, blocks - std::min(root, blocks)}) {
    // One next to another is not worth a run of its own.
    const auto is_close = [&](std::size_t other) { return 5 * std::min(size, other) > 4 * std::max(size, other); };
    if (size > 0 && std::ranges::none_of(sizes, is_close)) sizes.insert(size);
  }
  if (blocks > 0) sizes.insert(blocks);
  return {sizes.begin(), sizes.end()};
}

std::vector<std::vector<std::string>> growing_sets(const model::BlockLevel& level) {
  const std::vector<std::string> names = order_by_worth(level);
  std::vector<std::vector<std::string>> sets;
  for (const std::size_t size : growing_sizes(names.size())) {
    sets.emplace_back(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(size));
  }
  return sets;
}

}  // namespace vramfit::plan
