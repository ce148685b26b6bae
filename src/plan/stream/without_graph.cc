#include "plan/stream/without_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "model/number_text.h"
#include "plan/stream/last_uses.h"
#include "plan/stream/module_runs.h"

namespace vramfit::plan {
namespace {

using model::StreamBlock;
using model::StreamTime;

bool is_of_forward(const StreamBlock& block) {
  const bool is_evaluation = model::is_evaluation(block.phase);
  return is_evaluation && block.stage == VF_STAGE_FORWARD;
}

// Operators after it by which what no module made is taken to be needed.
constexpr std::size_t kBirthsToLastUse = 3;

// One forward of an evaluation: the blocks of it, first and one past the last.
class Forward {
 public:
  Forward(const model::AllocationStream& stream, std::size_t from, std::size_t to, UnknownEnd unknown_end,
          std::vector<Life>& lives)
      : stream_(stream),
        from_(from),
        to_(to),
        unknown_end_(unknown_end),
        lives_(lives),
        runs_(find_module_runs(stream, from, to)) {}

  void run(const model::AllocationStream* shown) {
    if (shown != nullptr) uses_ = find_last_uses(stream_, from_, to_, *shown);
    for (std::size_t i = from_; i < to_; ++i) {
      if (!uses_.empty() && uses_[i] > 0) {
        lives_[i].died = std::min(lives_[i].died, uses_[i]);
        continue;
      }
      if (block(i).owner != model::BlockOwner::kActivations) continue;
      if (block(i).module < 0) {
        if (uses_.empty()) lives_[i].died = std::min(lives_[i].died, guess_last_use(i));
        continue;
      }
      if (const StreamTime last = find_last_use(i); last > 0) {
        lives_[i].died = std::min(lives_[i].died, at_event(last) + 1);
      }
    }
  }

 private:
  const StreamBlock& block(std::size_t i) const { return stream_.blocks[i]; }
  std::int32_t parent(std::int32_t module) const { return stream_.modules[static_cast<std::size_t>(module)].parent; }

  // The run of a module that a block was made in.
  const ModuleRun& run_of(std::int32_t module, std::size_t i) const {
    const auto& runs = runs_[static_cast<std::size_t>(module)];
    return *(std::ranges::upper_bound(runs, i, {}, &ModuleRun::from) - 1);
  }
  StreamTime end(const ModuleRun& run) const { return block(run.to - 1).born; }

  // Guesses it for what no module made: an operator of the root, or of the script. The last of them are what the script
  // has.
  PlayTime guess_last_use(std::size_t i) const {
    const std::size_t last = i + (unknown_end_ == UnknownEnd::kGoesAtOnce ? 1 : kBirthsToLastUse);
    if (unknown_end_ == UnknownEnd::kStays || (last >= to_ && unknown_end_ == UnknownEnd::kGuessed))
      return lives_[i].died;
    return at_event(block(std::min(last, to_ - 1)).born) + 1;
  }

  // What a module does not hand on goes when the module around the operator is done; what it hands on, when what
  // comes next is. 0: the script has it.
  StreamTime find_last_use(std::size_t i) const {
    std::int32_t around = block(i).module;
    if (parent(around) >= 0 && !has_inner(around)) around = parent(around);
    if (!is_handed_on(i, around)) return end(run_of(around, i));
    while (around >= 0) {
      if (const StreamTime next = end_of_next(around, i); next > 0) return next;
      around = parent(around);
    }
    return 0;
  }

  bool has_inner(std::int32_t module) const {
    for (std::size_t m = 0; m < runs_.size(); ++m) {
      if (!runs_[m].empty() && stream_.modules[m].parent == module) return true;
    }
    return false;
  }

  // The last of its blocks that add up to what it returned.
  bool is_handed_on(std::size_t i, std::int32_t module) const {
    std::int64_t left = stream_.modules[static_cast<std::size_t>(module)].output.count();
    const ModuleRun& run = run_of(module, i);
    for (std::size_t k = run.to; k-- > run.from && left > 0;) {
      if (!is_within(k, module) || block(k).owner != model::BlockOwner::kActivations) continue;
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

  // The end of what begins first, of the modules beside it, after the run that a block was made in; 0: nothing does.
  StreamTime end_of_next(std::int32_t module, std::size_t i) const {
    for (std::size_t k = run_of(module, i).to; k < to_; ++k) {
      for (std::int32_t m = block(k).module; m >= 0; m = parent(m)) {
        const bool is_another = m != module || stream_.modules[static_cast<std::size_t>(m)].blocks_of_call > 0;
        if (parent(m) == parent(module) && is_another) return end(run_of(m, k));
      }
    }
    return 0;
  }

  const model::AllocationStream& stream_;
  const std::size_t from_, to_;
  const UnknownEnd unknown_end_;
  std::vector<Life>& lives_;
  std::vector<std::vector<ModuleRun>> runs_;  // by module
  std::vector<PlayTime> uses_;                // by block, as another run shows them; empty: none does
};

// A graph keeps the batch too. Without one it goes when the next batch takes its name.
void drop_batches(const model::AllocationStream& stream, UnknownEnd unknown_end, std::vector<Life>& lives) {
  if (unknown_end == UnknownEnd::kStays) return;
  std::vector<std::size_t> batch;
  StreamTime used = 0;  // last, by a forward of an evaluation; 0: it has not begun
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (block.owner == model::BlockOwner::kInputs) {
      const StreamTime gone = unknown_end == UnknownEnd::kGoesAtOnce ? used : block.born;
      for (const std::size_t k : used > 0 ? std::exchange(batch, {}) : std::vector<std::size_t>()) {
        lives[k].died = std::min(lives[k].died, at_event(gone) + 1);
      }
      used = 0;
      batch.push_back(i);
    } else if (is_of_forward(block)) {
      used = block.born;
    } else if (block.stage == VF_STAGE_FORWARD) {
      batch.clear();  // a step of training had it
    }
  }
}

}  // namespace

void drop_graphs_of_evaluations(const model::AllocationStream& stream, const model::AllocationStream* shown,
                                UnknownEnd unknown_end, std::vector<Life>& lives) {
  std::size_t from = 0;
  for (std::size_t i = 0; i <= stream.blocks.size(); ++i) {
    if (i < stream.blocks.size() && is_of_forward(stream.blocks[i])) continue;
    if (i > from) Forward(stream, from, i, unknown_end, lives).run(shown);
    from = i + 1;
  }
  drop_batches(stream, unknown_end, lives);
}

}  // namespace vramfit::plan
