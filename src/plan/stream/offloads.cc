#include "plan/stream/offloads.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "plan/stream/last_uses.h"

namespace vramfit::plan {
namespace {

using model::StreamBlock;

// A block is larger than its tensor by what the allocator does not split off.
constexpr std::int64_t kMostUnsplit = 2 << 20;
constexpr std::int64_t kLeastOffloaded = 1 << 20;  // python/vramfit/apply/offload_activations.py
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
  // Takes, of large blocks and in order, births in the backward, and deaths there of what was saved.
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

}  // namespace

void offload_saved(const model::AllocationStream& stream, const Reshaping& reshaping, std::vector<Life>& lives) {
  const std::size_t count = lives.size();
  std::vector<Life> back;
  for (const model::StreamPass& pass : stream.passes) {
    std::vector<model::StreamTime> births, births_after_turn;  // of large blocks
    for (const StreamBlock& block : stream.blocks) {
      if (block.bytes < kLeastOffloaded || block.born < pass.begin || block.born >= pass.end) continue;
      (block.born < pass.turn ? births : births_after_turn).push_back(block.born);
    }
    // The root has no name: what is of no module is its own until the last one has begun, and then the script's.
    model::StreamTime last_in_root = 0;
    for (const StreamBlock& block : stream.blocks) {
      const bool is_inside = block.module >= 0 && block.born >= pass.begin && block.born < pass.turn;
      if (is_inside) last_in_root = std::max(last_in_root, block.born);
    }
    const auto is_away = [&](std::size_t i) {
      const StreamBlock& block = stream.blocks[i];
      const bool is_activation = block.module >= 0 || block.owner == model::BlockOwner::kActivations;
      const bool is_saved = is_activation && block.born <= last_in_root && block.born >= pass.begin &&
                            block.born < pass.turn && lives[i].died > at_event(pass.turn) &&
                            lives[i].died <= at_event(pass.end);
      return is_saved && lives[i].bytes >= kLeastOffloaded && !is_logits(lives[i].bytes, reshaping.logits);
    };
    std::vector<model::StreamTime> gone_after_turn;
    for (std::size_t i = 0; i < count && i < stream.blocks.size(); ++i) {
      if (is_away(i)) gone_after_turn.push_back(event_of(lives[i].died));
    }
    const std::vector<PlayTime> last_uses = find_last_uses(stream, pass, reshaping.without_graph);
    const BackwardOperators operators(std::move(births_after_turn), std::move(gone_after_turn));
    for (std::size_t i = 0; i < stream.blocks.size() && i < count; ++i) {
      if (!is_away(i)) continue;
      const StreamBlock& block = stream.blocks[i];
      const auto after = std::ranges::upper_bound(births, block.born);
      const auto steps = static_cast<std::ptrdiff_t>(kBirthsBeforeCopied);
      const model::StreamTime copied = births.end() - after >= steps ? *(after + steps - 1) : pass.turn;
      const PlayTime gone = last_uses[i] > at_event(block.born) ? last_uses[i] : at_event(copied) + 1;
      const model::StreamTime again = operators.find_begin(event_of(lives[i].died), pass.turn);
      back.push_back({std::max(at_event(again) - 1, gone + 1), lives[i].died, lives[i].bytes, lives[i].phase});
      lives[i].died = gone;
    }
  }
  lives.insert(lives.end(), back.begin(), back.end());
}

}  // namespace vramfit::plan
