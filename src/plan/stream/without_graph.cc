#include "plan/stream/without_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "plan/stream/last_uses.h"

namespace vramfit::plan {
namespace {

using model::StreamBlock;
using model::StreamTime;

bool is_of_forward(const StreamBlock& block) {
  const bool is_evaluation = block.phase == VF_PHASE_VALIDATE || block.phase == VF_PHASE_TEST;
  return is_evaluation && block.stage == VF_STAGE_FORWARD;
}

// One forward of an evaluation: the blocks of it, first and one past the last.
class Forward {
 public:
  Forward(const model::AllocationStream& stream, std::size_t from, std::size_t to, std::vector<Life>& lives)
      : stream_(stream), from_(from), to_(to), lives_(lives), ends_(stream.modules.size(), 0) {
    for (std::size_t i = from; i < to; ++i) {
      for (std::int32_t m = block(i).module; m >= 0; m = parent(m)) ends_[static_cast<std::size_t>(m)] = block(i).born;
    }
  }

  void run(const model::AllocationStream* shown) {
    if (shown != nullptr) uses_ = find_last_uses(stream_, from_, to_, *shown);
    for (std::size_t i = from_; i < to_; ++i) {
      if (!uses_.empty() && uses_[i] > 0) {
        lives_[i].died = std::min(lives_[i].died, uses_[i]);
        continue;
      }
      if (block(i).module < 0 || block(i).owner != model::BlockOwner::kActivations) continue;
      if (const StreamTime last = find_last_use(i); last > 0) {
        lives_[i].died = std::min(lives_[i].died, at_event(last) + 1);
      }
    }
  }

 private:
  const StreamBlock& block(std::size_t i) const { return stream_.blocks[i]; }
  std::int32_t parent(std::int32_t module) const { return stream_.modules[static_cast<std::size_t>(module)].parent; }
  StreamTime end(std::int32_t module) const { return ends_[static_cast<std::size_t>(module)]; }

  // What a module does not hand on goes when the module around the operator is done; what it hands on, when what
  // comes next is. 0: the script has it.
  StreamTime find_last_use(std::size_t i) const {
    std::int32_t around = block(i).module;
    if (parent(around) >= 0 && !has_inner(around)) around = parent(around);
    if (!is_handed_on(i, around)) return end(around);
    while (around >= 0) {
      if (const StreamTime next = end_of_next(around); next > 0) return next;
      around = parent(around);
    }
    return 0;
  }

  bool has_inner(std::int32_t module) const {
    for (std::size_t m = 0; m < ends_.size(); ++m) {
      if (ends_[m] > 0 && stream_.modules[m].parent == module) return true;
    }
    return false;
  }

  // The last of its blocks that add up to what it returned.
  bool is_handed_on(std::size_t i, std::int32_t module) const {
    std::int64_t left = stream_.modules[static_cast<std::size_t>(module)].output.count();
    for (std::size_t k = to_; k-- > from_ && left > 0;) {
      if (block(k).born > end(module) || !is_within(k, module) || block(k).owner != model::BlockOwner::kActivations)
        continue;
      if (k == i) return true;
      left -= block(k).bytes;
    }
    return false;
  }

  bool is_within(std::size_t i, std::int32_t module) const {
    std::int32_t m = block(i).module;
    while (m >= 0 && m != module) m = parent(m);
    return m == module;
  }

  // Of the sibling that begins first after a module has ended; 0: there is none.
  StreamTime end_of_next(std::int32_t module) const {
    for (std::size_t i = from_; i < to_; ++i) {
      if (block(i).born <= end(module)) continue;
      for (std::int32_t m = block(i).module; m >= 0; m = parent(m)) {
        if (parent(m) == parent(module) && m != module) return end(m);
      }
    }
    return 0;
  }

  const model::AllocationStream& stream_;
  const std::size_t from_, to_;
  std::vector<Life>& lives_;
  std::vector<PlayTime> uses_;    // by block, as another run shows them; empty: none does
  std::vector<StreamTime> ends_;  // of each module, its last birth in this forward
};

}  // namespace

void drop_graphs_of_evaluations(const model::AllocationStream& stream, const model::AllocationStream* shown,
                                std::vector<Life>& lives) {
  std::size_t from = 0;
  for (std::size_t i = 0; i <= stream.blocks.size(); ++i) {
    if (i < stream.blocks.size() && is_of_forward(stream.blocks[i])) continue;
    if (i > from) Forward(stream, from, i, lives).run(shown);
    from = i + 1;
  }
}

}  // namespace vramfit::plan
