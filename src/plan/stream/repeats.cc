#include "plan/stream/repeats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/allocator_sizes.h"
#include "plan/stream/last_uses.h"
#include "plan/stream/module_runs.h"

namespace vramfit::plan {
namespace {

using model::StreamBlock;
using model::StreamTime;

// What is made before an event: by how deep the module lies in others that are run again, then by its own order.
PlayTime before_event(StreamTime event, std::size_t depth, StreamTime offset) {
  constexpr std::size_t kDepths = 15;
  constexpr StreamTime kOffsets = (1U << 27) - 1;
  return PlayTime{event} << 32 | PlayTime{std::min(depth, kDepths)} << 27 | std::min(offset, kOffsets);
}

// One run of a module in a pass.
struct Run {
  std::size_t from = 0, to = 0;                    // its blocks, and perhaps others'
  StreamTime begin = model::kStreamEnd, last = 0;  // its first and last birth in forward
  StreamTime next = 0;                             // the first birth after it that is not its own, or the turn
  StreamTime again = 0;                            // it is run again before this event
  StreamTime first_freed = model::kStreamEnd;      // of what it holds, in backward
  StreamTime released = 0;                         // the last of it
  StreamTime stop = 0;                             // its second run ends once what is born here is saved
  std::int64_t output_left = 0;                    // of what it returned, not found yet
};

struct RunOf {
  std::size_t module = 0;
  Run* run = nullptr;
  bool operator==(const RunOf&) const = default;
};

class RepeatedPass {
 public:
  RepeatedPass(const model::AllocationStream& stream, const std::vector<bool>& is_chosen, const model::StreamPass& pass,
               const Reshaping& reshaping, std::vector<Life>& lives)
      : stream_(stream), is_chosen_(is_chosen), pass_(pass), reshaping_(reshaping), lives_(lives) {
    const auto first = std::ranges::lower_bound(stream.blocks, pass.begin, {}, &StreamBlock::born);
    const auto last = std::ranges::lower_bound(stream.blocks, pass.turn, {}, &StreamBlock::born);
    from_ = static_cast<std::size_t>(first - stream.blocks.begin());
    to_ = static_cast<std::size_t>(last - stream.blocks.begin());
  }

  void run() {
    last_uses_ = find_last_uses(stream_, pass_, {reshaping_.without_graph, reshaping_.offloaded}, &is_of_step_);
    find_runs();
    find_outputs();
    find_second_runs();
    for (std::size_t i = from_; i < to_; ++i) move(i);
    for (std::size_t i = from_; i < to_; ++i) keep_inputs(i);
  }

 private:
  const StreamBlock& block(std::size_t i) const { return stream_.blocks[i]; }
  // The bytes of its tensor, where they are known: what a module returned is told in tensors.
  std::int64_t bytes(std::size_t i) const {
    return reshaping_.asked != nullptr ? (*reshaping_.asked)[i] : block(i).bytes;
  }
  bool is_held(const StreamBlock& block) const { return block.died > pass_.turn && block.died <= pass_.end; }

  // The runs that a block was made in, the innermost first.
  template <typename Use>
  void for_each_around(std::size_t i, Use use) {
    for (std::int32_t m = block(i).module; m >= 0; m = stream_.modules[static_cast<std::size_t>(m)].parent) {
      use(RunOf{static_cast<std::size_t>(m), &run_of(static_cast<std::size_t>(m), i)});
    }
  }

  Run& run_of(std::size_t module, std::size_t i) {
    const auto after = std::ranges::upper_bound(runs_[module], i, {}, &Run::from);
    return *(after - 1);
  }

  void find_runs() {
    const auto found = find_module_runs(stream_, from_, to_);
    runs_.resize(found.size());
    for (std::size_t m = 0; m < found.size(); ++m) {
      for (const ModuleRun& each : found[m]) {
        Run run{each.from, each.to, block(each.from).born, block(each.to - 1).born};
        const bool is_last = each.to >= stream_.blocks.size();
        run.next = is_last ? pass_.turn : std::min(block(each.to).born, pass_.turn);
        run.output_left = stream_.modules[m].output.count();
        runs_[m].push_back(run);
      }
    }
  }

  // What a module returned is what outlives it where nothing is kept for a backward, as a step shows it. An evaluation
  // does where no block has its size alone. Else: the last block of its size, or the last ones that add up to it.
  void find_outputs() {
    output_of_.assign(to_ - from_, {});
    std::vector<std::size_t> shown;
    for (std::size_t i = from_; i < to_; ++i) {
      if (last_uses_[i] > 0) shown.push_back(i);
    }
    // True or false where it is shown. What a module lets go of as it returns is gone before the next one makes
    // anything.
    const auto outlives = [&](std::size_t i, const RunOf& of) -> std::optional<bool> {
      const auto next = std::ranges::lower_bound(shown, of.run->to);
      if (last_uses_[i] == 0 || next == shown.end()) return std::nullopt;
      return last_uses_[i] > at_event(block(*next).born);
    };
    const auto take = [&](std::size_t i, const RunOf& of) {
      of.run->output_left -= bytes(i);
      output_of_[i - from_].push_back(of);
    };
    const auto take_outliving = [&] {
      for (std::size_t i = from_; i < to_; ++i) {
        if (!is_held(block(i))) continue;
        for_each_around(i, [&](const RunOf& of) {
          const bool is_wanted = is_of_step_ || of.run->output_left > 0;
          if (is_wanted && outlives(i, of).value_or(false)) take(i, of);
        });
      }
    };
    if (is_of_step_) take_outliving();
    for (std::size_t i = to_; i-- > from_;) {
      if (!is_held(block(i))) continue;
      for_each_around(i, [&](const RunOf& of) {
        if (is_of_step_ && outlives(i, of)) return;
        const std::int64_t left = of.run->output_left;
        const bool is_alone = left > 0 && bytes(i) >= left && bytes(i) <= most_for(left);
        if (is_alone) take(i, of);
      });
    }
    if (!is_of_step_) take_outliving();
    for (std::size_t i = to_; i-- > from_;) {
      if (!is_held(block(i))) continue;
      for_each_around(i, [&](const RunOf& of) {
        if (outlives(i, of)) return;
        const std::int64_t left = of.run->output_left;
        if (left > 0 && bytes(i) <= most_for(left)) take(i, of);
      });
    }
  }

  // The largest block for so much: small ones are multiples of 512 bytes, and of a large one no rest of up to 1 MiB is
  // split off (kMinBlockSize and kSmallSize of PyTorch's CUDACachingAllocator).
  static std::int64_t most_for(std::int64_t bytes) {
    constexpr std::int64_t kRoundedUp = model::kBlockUnit - 1;
    return bytes + (bytes > model::kLeastSplit ? model::kLeastSplit + kRoundedUp : kRoundedUp);
  }

  bool is_output_of(std::size_t i, const RunOf& of) const {
    return std::ranges::find(output_of_[i - from_], of) != output_of_[i - from_].end();
  }

  // A module's backward begins when the last block of what came after it is gone.
  void find_second_runs() {
    std::vector<StreamTime> gone;  // of all that is held
    for (std::size_t i = from_; i < to_; ++i) {
      if (is_held(block(i))) gone.push_back(block(i).died);
    }
    std::ranges::sort(gone);
    for (std::size_t m = 0; m < runs_.size(); ++m) {
      for (Run& run : runs_[m]) {
        if (is_chosen_[m]) find_second_run({m, &run}, gone);
      }
    }
  }

  void find_second_run(const RunOf& of, const std::vector<StreamTime>& gone) {
    Run& run = *of.run;
    for (std::size_t i = run.from; i < run.to; ++i) {
      if (!is_held(block(i)) || !is_within(block(i), of.module) || is_output_of(i, of)) continue;
      run.first_freed = std::min(run.first_freed, block(i).died);
      run.released = std::max(run.released, block(i).died);
      run.stop = std::max(run.stop, block(i).born);
    }
    // What goes before its own first does is others', or was handed on.
    const auto own = std::ranges::lower_bound(gone, run.first_freed);
    run.again = own == gone.begin() ? pass_.turn : *(own - 1) + 1;
  }

  bool is_within(const StreamBlock& block, std::size_t module) const {
    std::int32_t m = block.module;
    while (m >= 0 && static_cast<std::size_t>(m) != module) m = stream_.modules[static_cast<std::size_t>(m)].parent;
    return m >= 0;
  }

  // The chosen modules that a block is made anew in, the outermost first: of what a module returned, those around it.
  std::vector<RunOf> find_chain(std::size_t i) {
    std::vector<RunOf> chain;
    for_each_around(i, [&](const RunOf& of) {
      if (is_chosen_[of.module] && of.run->released > 0) chain.insert(chain.begin(), of);
    });
    for (std::size_t k = 0; k < chain.size(); ++k) {
      if (is_output_of(i, chain[k])) {
        chain.resize(k);
        break;
      }
    }
    return chain;
  }

  PlayTime gone_without_graph(std::size_t i, const RunOf& outermost) {
    const PlayTime whole = at_event(outermost.run->last) + 1;
    if (last_uses_[i] > at_event(block(i).born)) return std::min(last_uses_[i], whole);
    return at_event(guess_last_use(i, outermost)) + 1;
  }

  // Within the second run of one around a module that is run again itself.
  StreamTime gone_in_run(std::size_t i, const RunOf& of, const Run& around) {
    return static_cast<StreamTime>((gone_without_graph(i, of) - at_event(around.begin)) >> 32);
  }

  // Where nothing shows it, a block goes when the module around the operator that made it is done; what
  // that returns, when the next one is.
  StreamTime guess_last_use(std::size_t i, const RunOf& outermost) {
    const StreamTime last = outermost.run->last;
    const std::int32_t own = block(i).module;
    if (own < 0 || static_cast<std::size_t>(own) == outermost.module) return last;
    const std::int32_t around = stream_.modules[static_cast<std::size_t>(own)].parent;
    if (around < 0 || static_cast<std::size_t>(around) == outermost.module) return last;
    const RunOf whole{static_cast<std::size_t>(around), &run_of(static_cast<std::size_t>(around), i)};
    return std::min(last, is_output_of(i, whole) ? end_of_next(i, whole.module, outermost) : whole.run->last);
  }

  // The end of the sibling after the module that a block was made in.
  StreamTime end_of_next(std::size_t i, std::size_t module, const RunOf& outermost) {
    const StreamTime last = outermost.run->last;
    if (module == outermost.module || runs_[module].empty()) return last;
    const std::size_t from = run_of(module, i).to;
    const Run* nearest = nullptr;
    for (std::size_t m = 0; m < runs_.size(); ++m) {
      if (stream_.modules[m].parent != stream_.modules[module].parent) continue;
      const auto next = std::ranges::lower_bound(runs_[m], from, {}, &Run::from);
      if (next != runs_[m].end() && (nearest == nullptr || next->from < nearest->from)) nearest = &*next;
    }
    return nearest != nullptr ? nearest->last : last;
  }

  void move(std::size_t i) {
    const std::vector<RunOf> chain = find_chain(i);
    const Life whole = lives_[i];
    // The second run of a module makes another of what it returned.
    for_each_around(i, [&](const RunOf& of) {
      const bool is_made_again = is_chosen_[of.module] && of.run->released > 0 && is_output_of(i, of);
      if (is_made_again && chain.empty()) add_passing(i, *of.run, 0, whole);
    });
    if (chain.empty()) return;
    if (reshaping_.keeps_products && block(i).product) {  // also those that nobody held
      lives_[i].died = std::max(whole.died, at_event(chain.front().run->released));
      return;
    }
    if (is_held(block(i))) lives_[i].died = std::min(whole.died, gone_without_graph(i, chain.front()));
    for (std::size_t depth = 0; depth < chain.size(); ++depth) {
      const Run& run = *chain[depth].run;
      const bool is_last = depth + 1 == chain.size();
      if (!is_held(block(i))) {
        add_passing(i, run, depth, whole);
        continue;
      }
      const PlayTime died =
          is_last ? whole.died : before_event(run.again, depth, gone_in_run(i, chain[depth + 1], run));
      lives_.push_back({before_event(run.again, depth, block(i).born - run.begin), died, whole.bytes, whole.phase});
    }
  }

  // Made and gone within a module's second run, which PyTorch ends as soon as all that was saved is there again (early
  // stop): what a module adds up or joins last of all, and saves nothing for, is not made again.
  void add_passing(std::size_t i, const Run& run, std::size_t depth, const Life& whole) {
    if (block(i).born > run.stop) return;
    const StreamTime end = run.stop - run.begin + 1;
    const StreamTime died = block(i).died > run.stop ? end : block(i).died - run.begin;
    lives_.push_back({before_event(run.again, depth, block(i).born - run.begin), before_event(run.again, depth, died),
                      whole.bytes, whole.phase});
  }

  // What a module was given, and nobody else keeps, stays for its second run, and is saved there.
  void keep_inputs(std::size_t i) {
    if (block(i).died >= pass_.turn || !find_chain(i).empty()) return;
    for (std::size_t m = 0; m < runs_.size(); ++m) {
      if (!is_chosen_[m] || is_inside_chosen(m)) continue;
      auto run = std::ranges::upper_bound(runs_[m], block(i).born, {}, &Run::begin);
      for (; run != runs_[m].end() && run->begin <= block(i).died; ++run) {
        const bool is_given = run->released > 0 && block(i).died <= run->next;
        if (is_given) lives_[i].died = std::max(lives_[i].died, at_event(run->released));
      }
    }
  }

  bool is_inside_chosen(std::size_t module) const {
    for (std::int32_t m = stream_.modules[module].parent; m >= 0;
         m = stream_.modules[static_cast<std::size_t>(m)].parent) {
      if (is_chosen_[static_cast<std::size_t>(m)]) return true;
    }
    return false;
  }

  const model::AllocationStream& stream_;
  const std::vector<bool>& is_chosen_;
  const model::StreamPass& pass_;
  const Reshaping& reshaping_;
  std::vector<Life>& lives_;
  std::vector<std::vector<Run>> runs_;  // by module
  std::vector<PlayTime> last_uses_;     // by block
  bool is_of_step_ = false;             // as another step shows them, and not an evaluation
  std::size_t from_ = 0, to_ = 0;
  std::vector<std::vector<RunOf>> output_of_;
};

}  // namespace

void repeat_modules(const model::AllocationStream& stream, const Reshaping& reshaping, std::vector<Life>& lives) {
  std::vector<bool> is_chosen(stream.modules.size(), false);
  for (const std::int32_t module : reshaping.repeated) is_chosen[static_cast<std::size_t>(module)] = true;
  for (const model::StreamPass& pass : stream.passes) RepeatedPass(stream, is_chosen, pass, reshaping, lives).run();
}

}  // namespace vramfit::plan
