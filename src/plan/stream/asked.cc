#include "plan/stream/asked.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

namespace vramfit::plan {
namespace {

using model::StreamBlock;

// kSmallSize of PyTorch's CUDACachingAllocator: no smaller rest of a large block is split off.
constexpr std::int64_t kLeastRest = 1 << 20;
constexpr std::int64_t kRounding = 512;  // kMinBlockSize there

using TensorKind = std::tuple<std::int32_t, std::uint8_t, model::BlockOwner, bool>;

std::map<TensorKind, std::vector<std::size_t>> find_kinds(const model::AllocationStream& stream,
                                                          const model::StreamPass& pass) {
  std::map<TensorKind, std::vector<std::size_t>> kinds;
  const auto first = std::ranges::lower_bound(stream.blocks, pass.begin, {}, &StreamBlock::born);
  for (auto block = first; block != stream.blocks.end() && block->born < pass.end; ++block) {
    if (block->bytes <= kLeastRest) continue;
    kinds[{block->module, block->stage, block->owner, block->product}].push_back(
        static_cast<std::size_t>(block - stream.blocks.begin()));
  }
  return kinds;
}

// What a module handed on in training is known to the byte.
void set_outputs(const model::AllocationStream& stream, const model::StreamPass& pass,
                 std::vector<std::int64_t>& asked) {
  const auto first = std::ranges::lower_bound(stream.blocks, pass.begin, {}, &StreamBlock::born);
  for (auto block = first; block != stream.blocks.end() && block->born < pass.turn; ++block) {
    if (block->module < 0 || block->died <= pass.turn) continue;
    const std::int64_t output = stream.modules[static_cast<std::size_t>(block->module)].output.count();
    const std::int64_t rounded = (output + kRounding - 1) / kRounding * kRounding;
    std::int64_t& bytes = asked[static_cast<std::size_t>(block - stream.blocks.begin())];
    if (output > kLeastRest && bytes > rounded && bytes - rounded <= kLeastRest) bytes = rounded;
  }
}

}  // namespace

std::vector<std::int64_t> find_asked(const model::AllocationStream& stream) {
  std::vector<std::int64_t> asked;
  asked.reserve(stream.blocks.size());
  for (const StreamBlock& block : stream.blocks) asked.push_back(block.bytes);
  std::map<std::tuple<TensorKind, std::size_t>, std::vector<std::vector<std::size_t>>> alike;
  for (const model::StreamPass& pass : stream.passes) {
    for (auto& [kind, blocks] : find_kinds(stream, pass)) alike[{kind, blocks.size()}].push_back(std::move(blocks));
  }
  for (const auto& [kind, passes] : alike) {
    for (std::size_t k = 0; k < passes.front().size(); ++k) {
      std::int64_t least = stream.blocks[passes.front()[k]].bytes;
      for (const auto& blocks : passes) least = std::min(least, stream.blocks[blocks[k]].bytes);
      for (const auto& blocks : passes) {
        if (asked[blocks[k]] - least <= kLeastRest) asked[blocks[k]] = least;
      }
    }
  }
  for (const model::StreamPass& pass : stream.passes) set_outputs(stream, pass, asked);
  return asked;
}

}  // namespace vramfit::plan
