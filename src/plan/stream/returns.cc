#include "plan/stream/returns.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "model/allocator_sizes.h"

namespace vramfit::plan {
namespace {

using model::AllocationStream;
using model::StreamBlock;
using model::StreamPass;
using model::StreamTime;

// Two lists of more pairs than that are not compared.
constexpr std::size_t kMostTried = std::size_t{1} << 22;
// The share of a backward's births that must have their like in the other run's.
constexpr double kLeastPaired = 0.5;

using Places = std::vector<std::size_t>;  // of blocks in a stream
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

bool is_alike(std::int64_t one, std::int64_t other) {
  const std::int64_t slack = std::max(one, other) > model::kLeastSplit ? model::kLeastSplit : model::kBlockUnit;
  return std::abs(one - other) <= slack;
}

// Blocks of as many numbers may be of half the bytes.
bool is_alike_in_half(std::int64_t one, std::int64_t other) { return is_alike(one, other) || is_alike(one, 2 * other); }

// The longest common subsequence, by their places in the two lists. An operator is given its copies before it makes its
// result: of several the one whose pairs come last.
template <typename Alike>
Pairs pair_in_order(std::size_t ones, std::size_t others, Alike alike) {
  const std::size_t width = others + 1;
  if (ones == 0 || others == 0 || ones * width > kMostTried) return {};
  std::vector<std::uint16_t> most((ones + 1) * width, 0);  // pairs among the first of both
  for (std::size_t i = 1; i <= ones; ++i) {
    for (std::size_t k = 1; k <= others; ++k) {
      std::uint16_t& here = most[i * width + k];
      here = std::max(most[(i - 1) * width + k], most[i * width + k - 1]);
      if (alike(i - 1, k - 1)) here = std::max<std::uint16_t>(here, most[(i - 1) * width + k - 1] + 1);
    }
  }
  Pairs pairs;
  for (std::size_t i = ones, k = others; i > 0 && k > 0;) {
    const std::uint16_t here = most[i * width + k];
    if (alike(i - 1, k - 1) && here == most[(i - 1) * width + k - 1] + 1) {
      pairs.emplace_back(--i, --k);
    } else if (most[(i - 1) * width + k] == here) {
      --i;
    } else {
      --k;
    }
  }
  std::ranges::reverse(pairs);
  return pairs;
}

template <typename Choose>
Places find_places(const AllocationStream& stream, StreamTime from, StreamTime to, Choose choose) {
  Places places;
  const auto first = std::ranges::lower_bound(stream.blocks, from, {}, &StreamBlock::born);
  for (auto block = first; block != stream.blocks.end() && block->born < to; ++block) {
    if (choose(*block)) places.push_back(static_cast<std::size_t>(block - stream.blocks.begin()));
  }
  return places;
}

Places find_births(const AllocationStream& stream, const StreamPass& pass) {
  return find_places(stream, pass.turn, pass.end,
                     [](const StreamBlock& block) { return block.bytes >= kLeastOffloaded; });
}

Places find_saved(const AllocationStream& stream, const StreamPass& pass) {
  const StreamTime last = find_last_in_root(stream, pass);
  return find_places(stream, 0, pass.turn, [&](const StreamBlock& block) {
    return block.bytes >= kLeastOffloaded && is_saved(block, pass, last);
  });
}

// How many of the births come before a moment.
std::size_t count_before(const AllocationStream& stream, const Places& births, StreamTime moment) {
  const auto after = std::ranges::lower_bound(births, moment, {}, [&](std::size_t i) { return stream.blocks[i].born; });
  return static_cast<std::size_t>(after - births.begin());
}

// A copy in the run with activations in host memory: between which births of the job's own backward it comes and goes,
// and in what order with other copies.
struct Seen {
  std::size_t saved = 0;  // the block of the job's own stream
  std::size_t from = 0, to = 0;
  std::uint32_t first = 0, last = 0;
};

class Learning {
 public:
  Learning(const AllocationStream& own, const AllocationStream& offloaded, std::size_t number)
      : own_(own), offloaded_(offloaded), pass_(own.passes[number]), births_(find_births(own, pass_)) {
    learn(offloaded.passes[number]);
  }

  const StreamPass& pass() const { return pass_; }
  const Places& births() const { return births_; }
  const std::vector<Seen>& seen() const { return seen_; }

 private:
  void learn(const StreamPass& pass) {
    const Places all = find_births(offloaded_, pass);
    const Pairs pairs = pair_in_order(births_.size(), all.size(), [&](std::size_t i, std::size_t k) {
      return is_alike(own_.blocks[births_[i]].bytes, offloaded_.blocks[all[k]].bytes);
    });
    if (static_cast<double>(pairs.size()) < kLeastPaired * static_cast<double>(births_.size())) return;
    std::vector<bool> is_paired(all.size(), false);
    for (const auto& [one, other] : pairs) is_paired[other] = true;
    // The job's own birth that comes next.
    const auto next_of = [&](StreamTime moment) {
      const auto after = std::ranges::lower_bound(
          pairs, moment, {}, [&](const auto& pair) { return offloaded_.blocks[all[pair.second]].born; });
      return after != pairs.end() ? after->first : births_.size();
    };
    const Places saved = find_saved(own_, pass_);
    std::vector<std::tuple<StreamTime, std::size_t, bool>> order;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const StreamBlock& copy = offloaded_.blocks[all[k]];
      if (is_paired[k] || copy.died > pass.end) continue;
      Seen seen{0, next_of(copy.born), next_of(copy.died)};
      const auto block = find_block(saved, copy.bytes, seen.to);
      if (!block) continue;
      seen.saved = *block;
      order.emplace_back(copy.born, seen_.size(), true);
      order.emplace_back(copy.died, seen_.size(), false);
      seen_.push_back(seen);
    }
    std::ranges::sort(order);
    std::uint32_t rank = 0;
    for (const auto& [moment, k, is_birth] : order) (is_birth ? seen_[k].first : seen_[k].last) = ++rank;
  }

  // What was saved, of this size, and dies soonest after the copy did: with the operator that had the copy, or with
  // another that saved it too, which comes later.
  std::optional<std::size_t> find_block(const Places& saved, std::int64_t bytes, std::size_t gone) const {
    std::optional<std::size_t> found;
    for (const std::size_t i : saved) {
      const StreamBlock& block = own_.blocks[i];
      if (!is_alike(block.bytes, bytes) || count_before(own_, births_, block.died) < gone) continue;
      if (!found || block.died < own_.blocks[*found].died) found = i;
    }
    return found;
  }

  const AllocationStream &own_, &offloaded_;
  const StreamPass& pass_;
  const Places births_;  // in the job's own backward
  std::vector<Seen> seen_;
};

std::string_view module_of(const AllocationStream& stream, std::size_t i) {
  const std::int32_t module = stream.blocks[i].module;
  return module < 0 ? std::string_view() : stream.modules[static_cast<std::size_t>(module)].name;
}

// What another run saved where the job itself saved a block: by module, in order.
std::map<std::size_t, std::size_t> pair_saved(const AllocationStream& own, const Places& of_own,
                                              const AllocationStream& stream, const Places& of_stream) {
  std::map<std::string_view, std::pair<Places, Places>> modules;
  for (const std::size_t i : of_own) modules[module_of(own, i)].first.push_back(i);
  for (const std::size_t i : of_stream) modules[module_of(stream, i)].second.push_back(i);
  std::map<std::size_t, std::size_t> fellows;
  for (const auto& [module, both] : modules) {
    const auto& [ones, others] = both;
    const auto alike = [&](std::size_t i, std::size_t k) {
      return is_alike_in_half(own.blocks[ones[i]].bytes, stream.blocks[others[k]].bytes);
    };
    for (const auto& [one, other] : pair_in_order(ones.size(), others.size(), alike))
      fellows[ones[one]] = others[other];
  }
  return fellows;
}

}  // namespace

StreamTime find_last_in_root(const AllocationStream& stream, const StreamPass& pass) {
  StreamTime last = 0;
  for (const StreamBlock& block : stream.blocks) {
    const bool is_inside = block.module >= 0 && block.born >= pass.begin && block.born < pass.turn;
    if (is_inside) last = std::max(last, block.born);
  }
  return last;
}

bool is_saved(const StreamBlock& block, const StreamPass& pass, StreamTime last_in_root) {
  if (block.died <= pass.turn || block.died > pass.end) return false;
  if (block.born < pass.begin) return block.owner == model::BlockOwner::kInputs;
  const bool is_activation = block.module >= 0 || block.owner == model::BlockOwner::kActivations;
  return is_activation && block.born < pass.turn && block.born <= last_in_root;
}

std::vector<ReturnedCopy> find_returns(const AllocationStream& stream, const AllocationStream& own,
                                       const AllocationStream& offloaded, std::size_t number) {
  const std::size_t passes = std::min({stream.passes.size(), own.passes.size(), offloaded.passes.size()});
  if (number >= passes) return {};
  const StreamPass& pass = stream.passes[number];
  const Learning learning(own, offloaded, number);
  if (learning.seen().empty()) return {};
  const Places births = find_births(stream, pass);
  const Pairs pairs = pair_in_order(learning.births().size(), births.size(), [&](std::size_t i, std::size_t k) {
    return is_alike_in_half(own.blocks[learning.births()[i]].bytes, stream.blocks[births[k]].bytes);
  });
  if (static_cast<double>(pairs.size()) < kLeastPaired * static_cast<double>(learning.births().size())) return {};
  // Just before the birth that is the like of the job's own, or before the last of all that goes.
  const auto moment_of = [&](std::size_t own_birth, std::uint32_t rank) {
    const auto pair = std::ranges::lower_bound(pairs, own_birth, {}, &Pairs::value_type::first);
    const StreamTime event = pair != pairs.end() ? stream.blocks[births[pair->second]].born : pass.end - 1;
    return (PlayTime{event} << 32) + rank;
  };
  const auto fellows = pair_saved(own, find_saved(own, learning.pass()), stream, find_saved(stream, pass));
  std::vector<ReturnedCopy> copies;
  for (const Seen& seen : learning.seen()) {
    const auto fellow = fellows.find(seen.saved);
    if (fellow == fellows.end()) continue;
    copies.push_back({fellow->second, moment_of(seen.from, seen.first), moment_of(seen.to, seen.last)});
  }
  return copies;
}

}  // namespace vramfit::plan
