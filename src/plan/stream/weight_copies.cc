#include "plan/stream/weight_copies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string_view>

#include "model/allocator_sizes.h"

namespace vramfit::plan {
namespace {

using model::AllocationStream;
using model::BlockOwner;
using model::StreamBlock;

constexpr std::int64_t kLeastCopy = 64 << 10;  // smaller ones do not matter
// A block is larger than its tensor by what is rounded up, or not split off.

// How many weights there are of twice each size.
std::map<std::int64_t, std::int64_t> count_halves(const AllocationStream& stream) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const StreamBlock& block : stream.blocks) {
    if (block.owner == BlockOwner::kWeights && block.bytes / 2 >= kLeastCopy) ++counts[block.bytes / 2];
  }
  return counts;
}

std::int64_t rest_of(std::int64_t bytes) { return bytes > model::kLeastSplit ? model::kLeastSplit : model::kBlockUnit; }

bool is_as_large(std::int64_t one, std::int64_t other) {
  return std::abs(one - other) <= rest_of(std::max(one, other));
}

bool is_kept(const StreamBlock& block, const model::StreamPass& pass) {
  return block.born >= pass.begin && block.born < pass.turn && block.died > pass.turn && block.module >= 0 &&
         block.bytes >= kLeastCopy;
}

std::string_view module_of(const AllocationStream& stream, const StreamBlock& block) {
  return stream.modules[static_cast<std::size_t>(block.module)].name;
}

std::map<std::string_view, std::int64_t> count_kept(const AllocationStream& stream) {
  std::map<std::string_view, std::int64_t> counts;
  if (stream.passes.empty()) return counts;
  for (const StreamBlock& block : stream.blocks) {
    if (is_kept(block, stream.passes.back())) ++counts[module_of(stream, block)];
  }
  return counts;
}

// How many blocks each module keeps more than without autocast.
using Budget = std::map<std::string_view, std::int64_t>;

Budget count_more(const AllocationStream& with, const AllocationStream& without) {
  Budget more = count_kept(with);
  const auto kept_without = count_kept(without);
  for (auto& [module, count] : more) {
    const auto before = kept_without.find(module);
    if (before != kept_without.end()) count -= before->second;
  }
  return more;
}

bool may_be_copy(const StreamBlock& block, const model::StreamPass& pass) {
  return is_kept(block, pass) && block.owner == BlockOwner::kActivations && !block.product;
}

// What may be a copy of what, the nearest in size first: activations are often nearly as large as some weight's half.
struct Likeness {
  std::int64_t distance = 0;
  std::size_t block = 0;
  std::int64_t size = 0;
};

std::vector<Likeness> compare_sizes(const AllocationStream& stream, const model::StreamPass& pass,
                                    const std::map<std::int64_t, std::int64_t>& halves) {
  std::vector<Likeness> likely;
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (!may_be_copy(block, pass)) continue;
    // Each of the two may have been given more than it asked for.
    const auto last = halves.upper_bound(block.bytes + rest_of(2 * block.bytes) / 2);
    for (auto half = halves.lower_bound(block.bytes - rest_of(block.bytes)); half != last; ++half) {
      likely.push_back({std::abs(block.bytes - half->first), i, half->first});
    }
  }
  std::ranges::stable_sort(likely, {}, &Likeness::distance);
  return likely;
}

// Marks the copies of one pass: each weight has one copy, a module no more of them than `budget` says. Each copy has a
// gradient.
void mark_copies(const AllocationStream& stream, const model::StreamPass& pass, Budget* budget,
                 std::vector<bool>& copies) {
  std::map<std::int64_t, std::int64_t> left = count_halves(stream), gradients;
  for (const Likeness& likeness : compare_sizes(stream, pass, left)) {
    if (copies[likeness.block] || left[likeness.size] <= 0) continue;
    if (budget != nullptr && (*budget)[module_of(stream, stream.blocks[likeness.block])]-- <= 0) continue;
    copies[likeness.block] = true;
    --left[likeness.size];
    ++gradients[likeness.size];
  }
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (block.born < pass.turn || block.born >= pass.end || block.owner != BlockOwner::kTemporaries) continue;
    const auto half = gradients.lower_bound(block.bytes - rest_of(block.bytes));
    if (half == gradients.end() || half->first > block.bytes + rest_of(2 * block.bytes) / 2) continue;
    copies[i] = half->second-- > 0;
  }
}

}  // namespace

std::vector<bool> find_weight_copies(const AllocationStream& with, const AllocationStream& without) {
  std::vector<bool> copies(with.blocks.size(), false);
  for (const model::StreamPass& pass : with.passes) {
    Budget more = count_more(with, without);
    mark_copies(with, pass, &more, copies);
  }
  return copies;
}

std::vector<bool> find_weight_copies(const AllocationStream& stream) {
  std::vector<bool> copies(stream.blocks.size(), false);
  for (const model::StreamPass& pass : stream.passes) mark_copies(stream, pass, nullptr, copies);
  return copies;
}

std::vector<bool> find_gradient_parts(const AllocationStream& stream) {
  std::vector<bool> parts(stream.blocks.size(), false);
  for (const model::StreamPass& pass : stream.passes) {
    std::vector<std::size_t> sums;
    std::map<model::StreamTime, std::size_t> gone;  // temporaries of its backward, by when they go
    for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
      const StreamBlock& block = stream.blocks[i];
      if (block.born < pass.turn || block.born >= pass.end || block.bytes < kLeastCopy) continue;
      if (block.owner == BlockOwner::kGradients) sums.push_back(i);
      if (block.owner == BlockOwner::kTemporaries) gone[block.died] = i;
    }
    while (!sums.empty()) {
      const std::size_t sum = sums.back();
      sums.pop_back();
      const bool is_last = sum + 1 >= stream.blocks.size();
      const model::StreamTime next = is_last ? pass.end : stream.blocks[sum + 1].born;
      std::vector<std::size_t> found;
      for (auto each = gone.lower_bound(stream.blocks[sum].born); each != gone.end() && each->first < next; ++each) {
        const bool is_part = each->second < sum && !parts[each->second] &&
                             is_as_large(stream.blocks[each->second].bytes, stream.blocks[sum].bytes);
        if (is_part) found.push_back(each->second);
      }
      if (found.size() != 2) continue;
      for (const std::size_t part : found) parts[part] = true;
      sums.insert(sums.end(), found.begin(), found.end());  // of three uses, one is a sum itself
    }
  }
  return parts;
}

}  // namespace vramfit::plan
