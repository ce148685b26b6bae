#include "plan/stream/repeats.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "model/allocator_sizes.h"
#include "plan/stream/last_uses.h"

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

// One module's part of a pass.
struct Run {
  StreamTime begin = model::kStreamEnd, last = 0;  // its first and last birth in forward
  StreamTime next = 0;                             // the first birth after it that is not its own, or the turn
  StreamTime again = 0;                            // it is run again before this event
  StreamTime first_freed = model::kStreamEnd;      // of what it holds, in backward
  StreamTime released = 0;                         // the last of it
  StreamTime stop = 0;                             // its second run ends once what is born here is saved
};

class RepeatedPass {
 public:
  RepeatedPass(const model::AllocationStream& stream, const std::vector<bool>& is_chosen, const model::StreamPass& pass,
               const Reshaping& reshaping, std::vector<Life>& lives)
      : stream_(stream),
        is_chosen_(is_chosen),
        pass_(pass),
        reshaping_(reshaping),
        lives_(lives),
        runs_(stream.modules.size()) {
    const auto first = std::ranges::lower_bound(stream.blocks, pass.begin, {}, &StreamBlock::born);
    const auto last = std::ranges::lower_bound(stream.blocks, pass.turn, {}, &StreamBlock::born);
    from_ = static_cast<std::size_t>(first - stream.blocks.begin());
    to_ = static_cast<std::size_t>(last - stream.blocks.begin());
  }

  void run() {
    last_uses_ = find_last_uses(stream_, pass_, reshaping_.without_graph);
    find_runs();
    find_outputs();
    find_second_runs();
    for (std::size_t i = from_; i < to_; ++i) move(i);
    for (std::size_t i = from_; i < to_; ++i) keep_inputs(i);
  }

 private:
  const StreamBlock& block(std::size_t i) const { return stream_.blocks[i]; }
  bool is_held(const StreamBlock& block) const { return block.died > pass_.turn && block.died <= pass_.end; }

  template <typename Use>
  void for_each_around(const StreamBlock& block, Use use) const {
    for (std::int32_t m = block.module; m >= 0; m = stream_.modules[static_cast<std::size_t>(m)].parent) {
      use(static_cast<std::size_t>(m));
    }
  }

  void find_runs() {
    for (std::size_t i = from_; i < to_; ++i) {
      for_each_around(block(i), [&](std::size_t m) {
        runs_[m].begin = std::min(runs_[m].begin, block(i).born);
        runs_[m].last = std::max(runs_[m].last, block(i).born);
      });
    }
    for (Run& run : runs_) {
      const auto after = std::ranges::upper_bound(stream_.blocks, run.last, {}, &StreamBlock::born);
      run.next = after != stream_.blocks.end() ? std::min(after->born, pass_.turn) : pass_.turn;
    }
  }

  // What a module returned: the last block of its size, or else the last ones that add up to it.
  void find_outputs() {
    output_of_.assign(to_ - from_, {});
    std::vector<std::int64_t> left;
    for (const model::StreamModule& module : stream_.modules) left.push_back(module.output.count());
    const auto take = [&](std::size_t i, std::size_t m) {
      left[m] -= block(i).bytes;
      output_of_[i - from_].push_back(m);
    };
    for (std::size_t i = to_; i-- > from_;) {
      if (!is_held(block(i))) continue;
      for_each_around(block(i), [&](std::size_t m) {
        const bool is_alone = left[m] > 0 && block(i).bytes >= left[m] && block(i).bytes <= most_for(left[m]);
        if (is_alone) take(i, m);
      });
    }
    for (std::size_t i = to_; i-- > from_;) {
      if (!is_held(block(i))) continue;
      for_each_around(block(i), [&](std::size_t m) {
        if (left[m] > 0 && block(i).bytes <= most_for(left[m])) take(i, m);
      });
    }
  }

  // The largest block for so much: small ones are multiples of 512 bytes, and of a large one no rest of up to 1 MiB is
  // split off (kMinBlockSize and kSmallSize of PyTorch's CUDACachingAllocator).
  static std::int64_t most_for(std::int64_t bytes) {
    constexpr std::int64_t kRoundedUp = model::kBlockUnit - 1;
    return bytes + (bytes > model::kLeastSplit ? model::kLeastSplit + kRoundedUp : kRoundedUp);
  }

  bool is_output_of(std::size_t i, std::size_t module) const {
    return std::ranges::find(output_of_[i - from_], module) != output_of_[i - from_].end();
  }

  // A module's backward begins when the last block of what came after it is gone.
  void find_second_runs() {
    for (std::size_t m = 0; m < runs_.size(); ++m) {
      if (is_chosen_[m]) find_second_run(m);
    }
  }

  void find_second_run(std::size_t m) {
    Run& run = runs_[m];
    for (std::size_t i = from_; i < to_; ++i) {
      if (!is_held(block(i)) || !is_within(block(i), m) || is_output_of(i, m)) continue;
      run.first_freed = std::min(run.first_freed, block(i).died);
      run.released = std::max(run.released, block(i).died);
      run.stop = std::max(run.stop, block(i).born);
    }
    run.again = pass_.turn;
    for (std::size_t i = from_; i < to_; ++i) {
      const bool is_others = !is_within(block(i), m) || is_output_of(i, m);
      const bool is_later = is_held(block(i)) && block(i).died < run.first_freed && is_others;
      if (is_later) run.again = std::max(run.again, block(i).died + 1);
    }
  }

  bool is_within(const StreamBlock& block, std::size_t module) const {
    bool found = false;
    for_each_around(block, [&](std::size_t m) { found = found || m == module; });
    return found;
  }

  // The chosen modules that a block is made anew in, the outermost first: of what a module returned, those around it.
  std::vector<std::size_t> find_chain(std::size_t i) const {
    std::vector<std::size_t> chain;
    for_each_around(block(i), [&](std::size_t m) {
      if (is_chosen_[m] && runs_[m].released > 0) chain.insert(chain.begin(), m);
    });
    for (std::size_t k = 0; k < chain.size(); ++k) {
      if (is_output_of(i, chain[k])) {
        chain.resize(k);
        break;
      }
    }
    return chain;
  }

  PlayTime gone_without_graph(std::size_t i, std::size_t outermost) const {
    const PlayTime whole = at_event(runs_[outermost].last) + 1;
    if (last_uses_[i] > at_event(block(i).born)) return std::min(last_uses_[i], whole);
    return at_event(guess_last_use(i, outermost)) + 1;
  }

  // Within the second run of one around a module that is run again itself.
  StreamTime gone_in_run(std::size_t i, std::size_t module, const Run& around) const {
    return static_cast<StreamTime>((gone_without_graph(i, module) - at_event(around.begin)) >> 32);
  }

  // Where nothing shows it, a block goes when the module around the operator that made it is done; what
  // that returns, when the next one is.
  StreamTime guess_last_use(std::size_t i, std::size_t outermost) const {
    const std::int32_t own = block(i).module;
    if (own < 0 || static_cast<std::size_t>(own) == outermost) return runs_[outermost].last;
    const std::int32_t around = stream_.modules[static_cast<std::size_t>(own)].parent;
    const auto whole = static_cast<std::size_t>(std::max(around, 0));
    if (around < 0 || whole == outermost || is_output_of(i, whole)) {
      return std::min(runs_[outermost].last, end_of_next(whole, outermost));
    }
    return std::min(runs_[outermost].last, runs_[whole].last);
  }

  // The end of the sibling after a module.
  StreamTime end_of_next(std::size_t module, std::size_t outermost) const {
    if (module == outermost) return runs_[outermost].last;
    StreamTime end = runs_[outermost].last;
    StreamTime nearest = model::kStreamEnd;
    for (std::size_t m = 0; m < runs_.size(); ++m) {
      const bool is_sibling = stream_.modules[m].parent == stream_.modules[module].parent && runs_[m].last > 0;
      if (!is_sibling || runs_[m].begin <= runs_[module].last || runs_[m].begin >= nearest) continue;
      nearest = runs_[m].begin;
      end = runs_[m].last;
    }
    return end;
  }

  void move(std::size_t i) {
    const std::vector<std::size_t> chain = find_chain(i);
    const Life whole = lives_[i];
    // Of what a module returned, its second run makes another.
    for_each_around(block(i), [&](std::size_t m) {
      if (is_chosen_[m] && runs_[m].released > 0 && is_output_of(i, m) && chain.empty()) add_passing(i, m, 0, whole);
    });
    if (chain.empty()) return;
    if (reshaping_.keeps_products && block(i).product) {  // also those that nobody held
      lives_[i].died = std::max(whole.died, at_event(runs_[chain.front()].released));
      return;
    }
    if (is_held(block(i))) lives_[i].died = std::min(whole.died, gone_without_graph(i, chain.front()));
    for (std::size_t depth = 0; depth < chain.size(); ++depth) {
      const Run& run = runs_[chain[depth]];
      const bool is_last = depth + 1 == chain.size();
      if (!is_held(block(i))) {
        add_passing(i, chain[depth], depth, whole);
        continue;
      }
      const PlayTime died =
          is_last ? whole.died : before_event(run.again, depth, gone_in_run(i, chain[depth + 1], run));
      lives_.push_back({before_event(run.again, depth, block(i).born - run.begin), died, whole.bytes, whole.phase});
    }
  }

  // Made and gone within a module's second run, which PyTorch ends as soon as all that was saved is there again (early
  // stop): what a module adds up or joins last of all, and saves nothing for, is not made again.
  void add_passing(std::size_t i, std::size_t module, std::size_t depth, const Life& whole) {
    const Run& run = runs_[module];
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
      const Run& run = runs_[m];
      if (!is_chosen_[m] || run.released == 0 || is_inside_chosen(m)) continue;
      const bool is_given = block(i).born < run.begin && block(i).died >= run.begin && block(i).died <= run.next;
      if (is_given) lives_[i].died = std::max(lives_[i].died, at_event(run.released));
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
  std::vector<Run> runs_;
  std::vector<PlayTime> last_uses_;  // by block
  std::size_t from_ = 0, to_ = 0;
  std::vector<std::vector<std::size_t>> output_of_;
};

}  // namespace

void repeat_modules(const model::AllocationStream& stream, const Reshaping& reshaping, std::vector<Life>& lives) {
  std::vector<bool> is_chosen(stream.modules.size(), false);
  for (const std::int32_t module : reshaping.repeated) is_chosen[static_cast<std::size_t>(module)] = true;
  for (const model::StreamPass& pass : stream.passes) RepeatedPass(stream, is_chosen, pass, reshaping, lives).run();
}

}  // namespace vramfit::plan
