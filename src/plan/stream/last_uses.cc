#include "plan/stream/last_uses.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "model/allocator_sizes.h"
#include "model/number_text.h"

namespace vramfit::plan {
namespace {

using model::AllocationStream;
using model::StreamBlock;

// Smaller ones are counters and statistics, of which training has more.
constexpr std::int64_t kLeastCompared = 64 << 10;
// Up to 1 MiB of a large block is not split off (kSmallSize of PyTorch's CUDACachingAllocator).
constexpr double kUnsplit = model::kLeastSplit;
// Pairs of one module's blocks in a forward and in another: a network of a few modules with thousands of blocks each is
// not compared.
constexpr std::size_t kMostCompared = std::size_t{1} << 22;
// Few blocks of an evaluation without a graph stay until its end.
constexpr double kMostKept = 0.5;

struct Range {
  std::size_t from = 0, to = 0;
};

bool is_compared(const StreamBlock& block) {
  return block.bytes >= kLeastCompared && block.owner == model::BlockOwner::kActivations;
}

// Forwards of evaluations.
std::vector<Range> find_forwards(const AllocationStream& stream) {
  std::vector<Range> found;
  bool is_open = false;
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    const bool is_evaluation = model::is_evaluation(block.phase);
    const bool is_inside = is_evaluation && block.stage == VF_STAGE_FORWARD;
    if (is_inside && !is_open) found.push_back({i, i});
    if (is_inside) found.back().to = i + 1;
    is_open = is_inside;
  }
  return found;
}

// "": what is of no module, the root's own and the script's.
using ByModule = std::map<std::string_view, std::vector<std::size_t>>;

ByModule by_module(const AllocationStream& stream, const Range& range) {
  ByModule found;
  for (std::size_t i = range.from; i < range.to; ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (!is_compared(block)) continue;
    std::string_view module;
    if (block.module >= 0) module = stream.modules[static_cast<std::size_t>(block.module)].name;
    found[module].push_back(i);
  }
  return found;
}

bool has_graph(const AllocationStream& stream, const Range& range) {
  std::size_t kept = 0, all = 0;
  const model::StreamTime end = stream.blocks[range.to - 1].born;
  for (std::size_t i = range.from; i < range.to; ++i) {
    if (!is_compared(stream.blocks[i])) continue;
    ++all;
    kept += stream.blocks[i].died > end ? 1 : 0;
  }
  return static_cast<double>(kept) >= kMostKept * static_cast<double>(all);
}

// A forward, and one of the same network that kept nothing for a backward.
class ComparedForwards {
 public:
  ComparedForwards(const AllocationStream& stream, const Range& own, const AllocationStream& witness,
                   const Range& shown)
      : stream_(stream), witness_(witness), own_(own), shown_(shown) {
    const ByModule modules = by_module(stream, own), fellows = by_module(witness, shown);
    if (const auto factor = find_factor(modules, fellows)) find_pairs(modules, fellows, *factor);
  }

  bool is_empty() const { return pairs_.empty(); }

  // `end`: the first event after the forward; what is kept for a backward dies later. Of what the witness holds until
  // `kept_from` nothing is told.
  void tell(model::StreamTime end, std::vector<PlayTime>& uses, model::StreamTime kept_from = model::kStreamEnd) const {
    std::vector<bool> is_paired(stream_.blocks.size(), false);
    for (const Pair& pair : pairs_) is_paired[pair.own] = true;
    for (const Pair& pair : pairs_) {
      if (witness_.blocks[pair.shown].died >= kept_from) continue;
      const auto after = std::ranges::lower_bound(pairs_, witness_.blocks[pair.shown].died, {},
                                                  [&](const Pair& each) { return witness_.blocks[each.shown].born; });
      // The place is after the operator whose result is the last one before; what it works in comes after its result.
      std::size_t next = (after - 1)->own + 1;
      while (next < own_.to && !is_paired[next] && stream_.blocks[next].died < end) ++next;
      uses[pair.own] = next < own_.to ? at_event(stream_.blocks[next].born) - 1 : at_event(end) - 1;
    }
  }

  // What was still there when the first block after the forward was made is the script's: nothing is told of it.
  void leave_out_kept(std::vector<PlayTime>& uses) const {
    const bool is_last = shown_.to >= witness_.blocks.size();
    const model::StreamTime next = is_last ? model::kStreamEnd - 1 : witness_.blocks[shown_.to].born;
    for (const Pair& pair : pairs_) {
      if (witness_.blocks[pair.shown].died > next) uses[pair.own] = 0;
    }
  }

 private:
  struct Pair {
    std::size_t own = 0, shown = 0;
  };

  double bytes_of(std::size_t i) const { return static_cast<double>(stream_.blocks[i].bytes); }
  double bytes_shown(std::size_t i) const { return static_cast<double>(witness_.blocks[i].bytes); }

  // The factor between the sizes of their blocks: what most modules with as many blocks say.
  std::optional<double> find_factor(const ByModule& modules, const ByModule& fellows) const {
    std::vector<double> factors;
    for (const auto& [module, blocks] : modules) {
      const auto found = fellows.find(module);
      if (found == fellows.end() || found->second.size() != blocks.size()) continue;
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        factors.push_back(bytes_shown(found->second[k]) / bytes_of(blocks[k]));
      }
    }
    if (factors.empty()) return std::nullopt;
    const auto middle = factors.begin() + static_cast<std::ptrdiff_t>(factors.size() / 2);
    std::ranges::nth_element(factors, middle);
    return *middle;
  }

  bool is_fellow(std::size_t own, std::size_t shown, double factor) const {
    const double slack = (1 + factor) * (bytes_of(own) > kUnsplit ? kUnsplit : kUnsplit / 2048);
    return std::abs(bytes_shown(shown) - factor * bytes_of(own)) <= slack;
  }

  // Finds them in their order, as many as can be: training has blocks that an evaluation has not (masks of dropout,
  // statistics), and one that is taken for the next block of its size must not keep all later ones from theirs.
  void find_pairs(const ByModule& modules, const ByModule& fellows, double factor) {
    for (const auto& [module, blocks] : modules) {
      const auto found = fellows.find(module);
      if (found != fellows.end()) pair_in_order(blocks, found->second, factor);
    }
    std::ranges::sort(pairs_, {}, &Pair::shown);
  }

  // The longest common subsequence; of several the one whose pairs come first.
  void pair_in_order(const std::vector<std::size_t>& own, const std::vector<std::size_t>& shown, double factor) {
    const std::size_t width = shown.size() + 1;
    if (own.size() * width > kMostCompared) return;
    std::vector<std::uint16_t> most((own.size() + 1) * width, 0);  // pairs among what is left of both
    for (std::size_t i = own.size(); i-- > 0;) {
      for (std::size_t k = shown.size(); k-- > 0;) {
        std::uint16_t& here = most[i * width + k];
        here = std::max(most[(i + 1) * width + k], most[i * width + k + 1]);
        if (is_fellow(own[i], shown[k], factor)) {
          here = std::max(here, static_cast<std::uint16_t>(most[(i + 1) * width + k + 1] + 1));
        }
      }
    }
    for (std::size_t i = 0, k = 0; i < own.size() && k < shown.size();) {
      const std::uint16_t here = most[i * width + k];
      const bool is_pair = is_fellow(own[i], shown[k], factor) && here == most[(i + 1) * width + k + 1] + 1;
      if (is_pair) {
        pairs_.push_back({own[i++], shown[k++]});
      } else if (most[(i + 1) * width + k] == here) {
        ++i;
      } else {
        ++k;
      }
    }
  }

  const AllocationStream &stream_, &witness_;
  const Range own_, shown_;
  std::vector<Pair> pairs_;
};

Range find_forward(const AllocationStream& stream, const model::StreamPass& pass) {
  const auto first = std::ranges::lower_bound(stream.blocks, pass.begin, {}, &StreamBlock::born);
  const auto last = std::ranges::lower_bound(stream.blocks, pass.turn, {}, &StreamBlock::born);
  return {static_cast<std::size_t>(first - stream.blocks.begin()),
          static_cast<std::size_t>(last - stream.blocks.begin())};
}

// Compares it with the first forward without a graph that has fellows of its blocks.
std::optional<ComparedForwards> compare_forwards(const AllocationStream& stream, const Range& own,
                                                 const AllocationStream& witness) {
  for (const Range& forward : find_forwards(witness)) {
    if (has_graph(witness, forward)) continue;
    ComparedForwards comparison(stream, own, witness, forward);
    if (!comparison.is_empty()) return comparison;
  }
  return std::nullopt;
}

}  // namespace

std::vector<PlayTime> find_last_uses(const AllocationStream& stream, const model::StreamPass& pass,
                                     const WitnessRuns& runs, bool* is_of_step) {
  std::vector<PlayTime> uses(stream.blocks.size(), 0);
  const Range own = find_forward(stream, pass);
  for (const AllocationStream* witness : {&stream, runs.without_graph}) {
    if (witness == nullptr) continue;
    if (const auto comparison = compare_forwards(stream, own, *witness)) {
      comparison->tell(pass.turn, uses);
      return uses;
    }
  }
  if (runs.offloaded == nullptr || runs.offloaded->passes.empty()) return uses;
  const model::StreamPass& shown = runs.offloaded->passes.front();
  const ComparedForwards comparison(stream, own, *runs.offloaded, find_forward(*runs.offloaded, shown));
  if (comparison.is_empty()) return uses;
  comparison.tell(pass.turn, uses, shown.turn);
  if (is_of_step != nullptr) *is_of_step = true;
  return uses;
}

std::vector<PlayTime> find_last_uses(const AllocationStream& stream, std::size_t from, std::size_t to,
                                     const AllocationStream& without_graph) {
  std::vector<PlayTime> uses(stream.blocks.size(), 0);
  const auto comparison = compare_forwards(stream, {from, to}, without_graph);
  if (!comparison) return uses;
  comparison->tell(stream.blocks[to - 1].born + 1, uses);
  comparison->leave_out_kept(uses);
  return uses;
}

}  // namespace vramfit::plan
