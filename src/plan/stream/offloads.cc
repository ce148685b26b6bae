#include "plan/stream/offloads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "plan/stream/last_uses.h"
#include "plan/stream/returns.h"

namespace vramfit::plan {
namespace {

using model::StreamBlock;

// A block is larger than its tensor by what the allocator does not split off.
constexpr std::int64_t kMostUnsplit = 2 << 20;
// Operators after which a block is copied where nothing shows its last use.
constexpr std::size_t kBirthsBeforeCopied = 3;

constexpr model::StreamTime event_of(PlayTime moment) { return static_cast<model::StreamTime>(moment >> 32); }

bool is_logits(std::int64_t bytes, std::int64_t logits) {
  // Logits are in float32 or in half of it.
  const auto is_of = [&](std::int64_t tensor) { return bytes >= tensor && bytes - tensor <= kMostUnsplit; };
  return logits > 0 && (is_of(logits) || is_of(logits / 2));
}

// When the operator of a backward begins that saved blocks go with: after the last one of those before has gone.
class BackwardOperators {
 public:
  // Takes, in order, births in the backward, also small ones (the first layer's makes nothing but its weight's
  // gradient), and deaths there of what was saved.
  BackwardOperators(std::vector<model::StreamTime> births, std::vector<model::StreamTime> saved_gone)
      : births_(std::move(births)), gone_(std::move(saved_gone)) {
    std::ranges::sort(gone_);
  }

  // It allocates before it lets go: what goes without a birth between is of one operator.
  model::StreamTime find_begin(model::StreamTime gone, model::StreamTime turn) const {
    const auto after = std::ranges::lower_bound(births_, gone);
    if (after == births_.begin()) return turn;
    const auto before = std::ranges::lower_bound(gone_, *(after - 1));
    return before == gone_.begin() ? turn : *std::ranges::upper_bound(births_, *(before - 1));
  }

 private:
  std::vector<model::StreamTime> births_, gone_;
};

std::vector<ReturnedCopy> find_copies(const model::AllocationStream& stream, const Reshaping& reshaping,
                                      std::size_t number) {
  if (reshaping.own == nullptr || reshaping.offloaded == nullptr) return {};
  return find_returns(stream, *reshaping.own, *reshaping.offloaded, number);
}

}  // namespace

void offload_saved(const model::AllocationStream& stream, const Reshaping& reshaping, std::vector<Life>& lives) {
  const std::size_t count = lives.size();
  std::vector<Life> back;
  for (std::size_t number = 0; number < stream.passes.size(); ++number) {
    const model::StreamPass& pass = stream.passes[number];
    std::vector<model::StreamTime> births, births_after_turn;  // of large blocks; of all
    for (const StreamBlock& block : stream.blocks) {
      if (block.born < pass.begin || block.born >= pass.end) continue;
      if (block.born >= pass.turn) births_after_turn.push_back(block.born);
      if (block.born < pass.turn && block.bytes >= kLeastOffloaded) births.push_back(block.born);
    }
    const model::StreamTime last_in_root = find_last_in_root(stream, pass);
    const auto is_away = [&](std::size_t i) {
      StreamBlock block = stream.blocks[i];
      block.died = event_of(lives[i].died);
      const bool is_large = lives[i].bytes >= kLeastOffloaded && !is_logits(lives[i].bytes, reshaping.logits);
      return is_large && is_saved(block, pass, last_in_root);
    };
    std::vector<model::StreamTime> gone_after_turn;
    for (std::size_t i = 0; i < count && i < stream.blocks.size(); ++i) {
      if (is_away(i)) gone_after_turn.push_back(event_of(lives[i].died));
    }
    const std::vector<PlayTime> last_uses =
        find_last_uses(stream, pass, {reshaping.without_graph, reshaping.offloaded});
    const BackwardOperators operators(std::move(births_after_turn), std::move(gone_after_turn));
    // What nothing shows goes after so many operators; a batch with the call of the network that it was given to.
    const auto find_gone = [&](std::size_t i) {
      const StreamBlock& block = stream.blocks[i];
      if (last_uses[i] > at_event(block.born)) return last_uses[i];
      if (block.born < pass.begin) return at_event(last_in_root) + 1;
      const auto after = std::ranges::upper_bound(births, block.born);
      const auto steps = static_cast<std::ptrdiff_t>(kBirthsBeforeCopied);
      return at_event(births.end() - after >= steps ? *(after + steps - 1) : pass.turn) + 1;
    };
    std::vector<bool> is_shown(stream.blocks.size(), false);
    for (const ReturnedCopy& copy : find_copies(stream, reshaping, number)) {
      if (copy.block >= count || !is_away(copy.block)) continue;
      is_shown[copy.block] = true;
      back.push_back({copy.born, copy.died, lives[copy.block].bytes, lives[copy.block].phase});
    }
    for (std::size_t i = 0; i < stream.blocks.size() && i < count; ++i) {
      if (!is_away(i)) continue;
      const PlayTime gone = find_gone(i);
      const model::StreamTime again = operators.find_begin(event_of(lives[i].died), pass.turn);
      if (!is_shown[i]) {
        back.push_back({std::max(at_event(again) - 1, gone + 1), lives[i].died, lives[i].bytes, lives[i].phase});
      }
      lives[i].died = gone;
    }
  }
  lives.insert(lives.end(), back.begin(), back.end());
}

}  // namespace vramfit::plan
