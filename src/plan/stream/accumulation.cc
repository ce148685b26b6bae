#include "plan/stream/accumulation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>

namespace vramfit::plan {
namespace {

using model::BlockOwner;
using model::StreamBlock;
using model::StreamTime;

// From the third on a micro-batch finds what the one before it found: gradients are there, and the optimizer's state
// comes after all of them. More of them would cost a play its speed.
constexpr int kMostPlayed = 4;

// One round, from where a batch goes to the card to the end of its backward.
struct Round {
  StreamTime begin = 0, end = 0;
  std::size_t first = 0;  // the first block that is born in it
};

std::vector<Round> find_rounds(const model::AllocationStream& stream) {
  std::vector<Round> rounds;
  StreamTime before = 0;
  for (const model::StreamPass& pass : stream.passes) {
    Round round{pass.begin, pass.end, 0};
    const auto from = std::ranges::lower_bound(stream.blocks, before, {}, &StreamBlock::born);
    for (auto block = from; block != stream.blocks.end() && block->born < pass.begin; ++block) {
      const bool is_step = block->stage == VF_STAGE_OPTIMIZER || block->phase != VF_PHASE_TRAIN;
      if (is_step) round.begin = pass.begin;
      if (block->owner == BlockOwner::kInputs) round.begin = std::min(round.begin, block->born);
    }
    const auto first = std::ranges::lower_bound(stream.blocks, round.begin, {}, &StreamBlock::born);
    round.first = static_cast<std::size_t>(first - stream.blocks.begin());
    rounds.push_back(round);
    before = pass.end;
  }
  return rounds;
}

class RepeatedRound {
 public:
  RepeatedRound(const model::AllocationStream& stream, const std::vector<Round>& rounds, std::size_t which, int count,
                std::vector<Life>& lives)
      : stream_(stream), rounds_(rounds), which_(which), round_(rounds[which]), count_(count), lives_(lives) {}

  void run() {
    find_times();
    const std::vector<PlayTime> handed_over = find_handed_over();
    const std::size_t known = lives_.size();
    for (std::size_t i = 0; i < known; ++i) {
      if (!is_inside(lives_[i].born)) continue;
      const bool is_gradient = i < stream_.blocks.size() && stream_.blocks[i].owner == BlockOwner::kGradients;
      const PlayTime over = i < handed_over.size() ? handed_over[i] : 0;
      const Life whole = lives_[i];
      if (is_gradient) {
        // Added to what is there, and gone.
        for (int copy = 1; copy < count_; ++copy) {
          const PlayTime born = in_copy(whole.born, copy);
          lives_.push_back({born, born + 1, whole.bytes, VF_PHASE_TRAIN});
        }
      } else if (is_inside(whole.died)) {
        for (int copy = 1; copy < count_; ++copy) {
          lives_.push_back({in_copy(whole.born, copy), in_copy(whole.died, copy), whole.bytes, VF_PHASE_TRAIN});
        }
      } else if (over > 0) {
        for (int copy = 1; copy < count_; ++copy) {
          const PlayTime died = copy + 1 < count_ ? in_copy(over, copy + 1) - 1 : whole.died;
          lives_.push_back({in_copy(whole.born, copy), died, whole.bytes, VF_PHASE_TRAIN});
        }
        lives_[i].died = in_copy(over, 1) - 1;
      }
    }
  }

 private:
  PlayTime from() const { return PlayTime{round_.begin} << 32; }
  PlayTime last() const { return at_event(round_.end - 1) + 1; }
  bool is_inside(PlayTime moment) const { return moment >= from() && moment <= last(); }

  void find_times() {
    for (const Life& life : lives_) {
      if (is_inside(life.born)) times_.push_back(life.born);
      if (is_inside(life.died)) times_.push_back(life.died);
    }
    std::ranges::sort(times_);
    times_.erase(std::ranges::unique(times_).begin(), times_.end());
  }

  // Every other moment is free, for what goes as soon as it is there.
  PlayTime in_copy(PlayTime moment, int copy) const {
    const auto place = std::ranges::lower_bound(times_, moment) - times_.begin();
    const auto offset = (static_cast<PlayTime>(copy) - 1) * (times_.size() + 1) + static_cast<PlayTime>(place) + 1;
    return last() + 2 * offset;
  }

  // What the script holds until the next round has made its like (its batch, its loss): before which birth of that
  // round it goes, as a moment of this one. 0: of no such block.
  std::vector<PlayTime> find_handed_over() const {
    std::vector<PlayTime> moments(stream_.blocks.size(), 0);
    const bool is_last = which_ + 1 == rounds_.size();
    if (is_last && which_ == 0) return moments;
    const std::size_t shown = is_last ? which_ - 1 : which_;
    const auto own = find_held(rounds_[which_]), fellows = is_last ? find_held(rounds_[shown]) : own;
    const Round& next = rounds_[shown + 1];
    for (const auto& [kind, blocks] : own) {
      const auto found = fellows.find(kind);
      if (found == fellows.end()) continue;
      for (std::size_t k = 0; k < std::min(blocks.size(), found->second.size()); ++k) {
        const StreamTime died = stream_.blocks[found->second[k]].died;
        if (died < next.begin || died >= next.end) continue;
        const auto after = std::ranges::lower_bound(stream_.blocks, died, {}, &StreamBlock::born);
        const std::size_t place = static_cast<std::size_t>(after - stream_.blocks.begin()) - next.first + round_.first;
        if (place < stream_.blocks.size() && stream_.blocks[place].born < round_.end) {
          moments[blocks[k]] = at_event(stream_.blocks[place].born);
        }
      }
    }
    return moments;
  }

  using Kind = std::tuple<std::int32_t, std::uint8_t, BlockOwner>;

  std::map<Kind, std::vector<std::size_t>> find_held(const Round& round) const {
    std::map<Kind, std::vector<std::size_t>> blocks;
    for (std::size_t i = round.first; i < stream_.blocks.size() && stream_.blocks[i].born < round.end; ++i) {
      const StreamBlock& block = stream_.blocks[i];
      if (block.died >= round.end) blocks[{block.module, block.stage, block.owner}].push_back(i);
    }
    return blocks;
  }

  const model::AllocationStream& stream_;
  const std::vector<Round>& rounds_;
  const std::size_t which_;
  const Round& round_;
  const int count_;
  std::vector<Life>& lives_;
  std::vector<PlayTime> times_;  // of births and deaths in it
};

}  // namespace

void add_micro_batches(const model::AllocationStream& stream, int count, std::vector<Life>& lives) {
  const std::vector<Round> rounds = find_rounds(stream);
  const std::size_t known = lives.size();
  for (std::size_t which = 0; which < rounds.size(); ++which) {
    std::vector<Life> own(lives.begin(), lives.begin() + static_cast<std::ptrdiff_t>(known));
    RepeatedRound(stream, rounds, which, std::min(count, kMostPlayed), own).run();
    std::ranges::copy(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(known), lives.begin());
    lives.insert(lives.end(), own.begin() + static_cast<std::ptrdiff_t>(known), own.end());
  }
}

}  // namespace vramfit::plan
