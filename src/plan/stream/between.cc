#include "plan/stream/between.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "model/allocator_sizes.h"

namespace vramfit::plan {
namespace {

using model::AllocationStream;
using model::StreamBlock;

// The last two: of a product, and kept for a backward. What convolutions work in comes and goes with their algorithm,
// and is not counted among what they give.
using Kind = std::tuple<std::string_view, std::uint8_t, std::uint8_t, model::BlockOwner, bool, bool>;

bool is_kept(const AllocationStream& stream, const StreamBlock& block) {
  return std::ranges::any_of(
      stream.passes, [&](const model::StreamPass& pass) { return block.born < pass.turn && block.died > pass.turn; });
}

std::map<Kind, std::vector<std::size_t>> find_kinds(const AllocationStream& stream) {
  std::map<Kind, std::vector<std::size_t>> kinds;
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    const std::string_view module =
        block.module < 0 ? std::string_view() : stream.modules[static_cast<std::size_t>(block.module)].name;
    kinds[{module, block.phase, block.stage, block.owner, block.product, is_kept(stream, block)}].push_back(i);
  }
  return kinds;
}

double sum_bytes(const AllocationStream& stream, const std::vector<std::size_t>& blocks) {
  double sum = 0;
  for (const std::size_t i : blocks) sum += static_cast<double>(stream.blocks[i].bytes);
  return sum;
}

}  // namespace

double share_between(double scale, double measured, double share) {
  if (scale == measured) return share;
  share = std::clamp(share, 0.0, 1.0);
  if (measured >= 1) return share;
  if (share >= measured) return 1 - (1 - share) * (1 - scale) / (1 - measured);
  const double square = std::min((measured - share) / (measured - measured * measured), 1.0);
  return (1 - square) * scale + square * scale * scale;
}

AllocationStream stream_between(const AllocationStream& whole, const AllocationStream& shrunk, double scale,
                                double measured) {
  AllocationStream between = whole;
  const auto fellows = find_kinds(shrunk);
  for (const auto& [kind, blocks] : find_kinds(whole)) {
    const auto found = fellows.find(kind);
    if (found == fellows.end()) continue;
    const bool is_paired = found->second.size() == blocks.size();
    const double of_all = sum_bytes(shrunk, found->second) / sum_bytes(whole, blocks);
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const auto was = static_cast<double>(whole.blocks[blocks[k]].bytes);
      const double share = is_paired ? static_cast<double>(shrunk.blocks[found->second[k]].bytes) / was : of_all;
      const auto bytes = std::llround(was * share_between(scale, measured, share));
      between.blocks[blocks[k]].bytes = std::max<std::int64_t>(bytes, model::kBlockUnit);
    }
  }
  between.peak_reserved = {};
  return between;
}

}  // namespace vramfit::plan
