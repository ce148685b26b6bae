#include "plan/stream/spliced.h"

#include <vramfit/numbers.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/number_text.h"

namespace vramfit::plan {
namespace {

using model::AllocationStream;
using model::StreamBlock;
using model::StreamTime;

bool is_of_evaluation(const StreamBlock& block) { return model::is_evaluation(block.phase); }

// The first block behind the last step of training; the number of blocks where training is not all before evaluations.
std::size_t find_cut(const AllocationStream& stream) {
  const std::size_t none = stream.blocks.size();
  if (stream.passes.empty()) return none;
  const auto behind = std::ranges::lower_bound(stream.blocks, stream.passes.back().end, {}, &StreamBlock::born);
  if (std::any_of(stream.blocks.begin(), behind, is_of_evaluation)) return none;
  const auto cut =
      std::find_if(behind, stream.blocks.end(), [](const auto& block) { return block.stage != VF_STAGE_OPTIMIZER; });
  return static_cast<std::size_t>(cut - stream.blocks.begin());
}

using ByOwner = std::array<std::vector<std::size_t>, model::kBlockOwnerCount>;

ByOwner find_held_at(const AllocationStream& stream, std::size_t cut) {
  ByOwner blocks;
  for (std::size_t i = 0; i < cut; ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (block.died >= stream.blocks[cut].born) blocks[static_cast<std::size_t>(block.owner)].push_back(i);
  }
  return blocks;
}

class Splice {
 public:
  Splice(const AllocationStream& training, std::size_t cut, const AllocationStream& evaluating, std::size_t other_cut)
      : training_(training), evaluating_(evaluating), cut_(cut), other_cut_(other_cut) {}

  AllocationStream run() const {
    AllocationStream spliced = training_;
    spliced.blocks.resize(cut_);
    spliced.peak_reserved = {};
    pass_on(spliced);
    for (std::size_t i = other_cut_; i < evaluating_.blocks.size(); ++i) {
      StreamBlock block = evaluating_.blocks[i];
      block.born = moved(block.born);
      block.died = moved(block.died);
      block.module = find_module(block.module);
      spliced.blocks.push_back(block);
    }
    std::erase_if(spliced.emptied, [&](StreamTime moment) { return moment >= begin(); });
    for (const StreamTime moment : evaluating_.emptied) {
      if (moment >= evaluating_.blocks[other_cut_].born) spliced.emptied.push_back(moved(moment));
    }
    return spliced;
  }

 private:
  StreamTime begin() const { return training_.blocks[cut_].born; }
  StreamTime moved(StreamTime moment) const {
    return moment == model::kStreamEnd ? moment : moment - evaluating_.blocks[other_cut_].born + begin();
  }

  void pass_on(AllocationStream& spliced) const {
    const ByOwner own = find_held_at(training_, cut_), fellows = find_held_at(evaluating_, other_cut_);
    for (std::size_t owner = 0; owner < own.size(); ++owner) {
      for (std::size_t k = 0; k < std::min(own[owner].size(), fellows[owner].size()); ++k) {
        spliced.blocks[own[owner][k]].died = moved(evaluating_.blocks[fellows[owner][k]].died);
      }
    }
  }

  std::int32_t find_module(std::int32_t module) const {
    if (module < 0) return module;
    const auto& name = evaluating_.modules[static_cast<std::size_t>(module)].name;
    const auto found = std::ranges::find(training_.modules, name, &model::StreamModule::name);
    return found != training_.modules.end() ? static_cast<std::int32_t>(found - training_.modules.begin()) : -1;
  }

  const AllocationStream &training_, &evaluating_;
  const std::size_t cut_, other_cut_;
};

}  // namespace

std::optional<AllocationStream> splice_evaluations(const AllocationStream& training,
                                                   const AllocationStream& evaluating) {
  const std::size_t cut = find_cut(training), other_cut = find_cut(evaluating);
  if (cut >= training.blocks.size() || other_cut >= evaluating.blocks.size()) return std::nullopt;
  return Splice(training, cut, evaluating, other_cut).run();
}

}  // namespace vramfit::plan
