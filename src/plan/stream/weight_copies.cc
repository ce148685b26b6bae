#include "plan/stream/weight_copies.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

namespace vramfit::plan {
namespace {

using model::AllocationStream;
using model::BlockOwner;
using model::StreamBlock;

constexpr std::int64_t kLeastCopy = 64 << 10;  // smaller ones do not matter
// A block is larger than its tensor by what is rounded up, or not split off.
constexpr std::int64_t kRounded = 512, kLeastRest = 1 << 20;

class HalfCopies {
 public:
  explicit HalfCopies(const AllocationStream& stream) {
    for (const StreamBlock& block : stream.blocks) {
      if (block.owner == BlockOwner::kWeights && block.bytes / 2 >= kLeastCopy) sizes_.push_back(block.bytes / 2);
    }
    std::ranges::sort(sizes_);
  }

  // The size that a block of so many bytes has as a copy; 0: it is none. Weights may have been given more themselves.
  std::int64_t find(std::int64_t bytes) const {
    const std::int64_t more = bytes > kLeastRest ? kLeastRest : kRounded;
    const auto first = std::ranges::lower_bound(sizes_, bytes - more);
    return first != sizes_.end() && *first <= bytes + more / 2 ? *first : 0;
  }

 private:
  std::vector<std::int64_t> sizes_;
};

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

}  // namespace

std::vector<bool> find_weight_copies(const AllocationStream& with, const AllocationStream& without) {
  std::vector<bool> copies(with.blocks.size(), false);
  const HalfCopies halves(with);
  const auto kept_without = count_kept(without), kept_with = count_kept(with);
  for (const model::StreamPass& pass : with.passes) {
    std::map<std::string_view, std::int64_t> more = kept_with;
    for (auto& [module, count] : more) {
      const auto before = kept_without.find(module);
      if (before != kept_without.end()) count -= before->second;
    }
    std::map<std::int64_t, int> gradients;  // to come, by size
    for (std::size_t i = 0; i < with.blocks.size(); ++i) {
      const StreamBlock& block = with.blocks[i];
      if (block.born < pass.begin || block.born >= pass.end) continue;
      const std::int64_t size = halves.find(block.bytes);
      if (size == 0) continue;
      if (is_kept(block, pass) && block.owner == BlockOwner::kActivations && !block.product) {
        std::int64_t& left = more[module_of(with, block)];
        copies[i] = left > 0;
        if (left-- > 0) ++gradients[size];
      } else if (block.born >= pass.turn && block.owner == BlockOwner::kTemporaries) {
        copies[i] = gradients[size]-- > 0;
      }
    }
  }
  return copies;
}

}  // namespace vramfit::plan
