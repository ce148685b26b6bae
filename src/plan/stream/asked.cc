#include "plan/stream/asked.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <tuple>

#include "allocator/linux_device.h"
#include "allocator/simulator.h"
#include "model/allocator_sizes.h"

namespace vramfit::plan {
namespace {

using model::StreamBlock;

// How a block came to its size.
struct Placed {
  bool is_exact = true;    // split off: it is what was asked for, rounded
  std::int64_t least = 0;  // else what was asked for is no less: its rest, or a smaller block, would have been given
};

struct StreamCall {
  model::StreamTime at = 0;
  int order = 0;  // births before deaths, and the cache is given back last
  std::size_t block = 0;
};

std::vector<StreamCall> order_calls(const model::AllocationStream& stream) {
  std::vector<StreamCall> calls;
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    calls.push_back({stream.blocks[i].born, 0, i});
    if (stream.blocks[i].died != model::kStreamEnd) calls.push_back({stream.blocks[i].died, 1, i});
  }
  for (const model::StreamTime moment : stream.emptied) calls.push_back({moment, 2, 0});
  std::ranges::stable_sort(calls, {}, [](const StreamCall& call) { return std::tuple(call.at, call.order); });
  return calls;
}

// Found by the allocator's own rules, played with the sizes that it gave: what it took whole was of that size already.
// Nothing where that does not come to what was recorded.
std::vector<Placed> find_placed(const model::AllocationStream& stream) {
  allocator::LinuxDevice device(std::uint64_t{1} << 46);
  const auto version = allocator::parse_torch_version(stream.torch_version);
  allocator::Simulator simulator(device, allocator::rules_of(version.value_or(allocator::TorchVersion{})), {});
  std::vector<Placed> placed(stream.blocks.size());
  std::vector<allocator::BlockId> ids(stream.blocks.size(), allocator::kNoBlock);
  std::int64_t most = 0;
  for (const StreamCall& call : order_calls(stream)) {
    if (call.order == 2) simulator.empty_cache();
    if (call.order == 1 && ids[call.block] != allocator::kNoBlock) simulator.free(ids[call.block]);
    if (call.order != 0) continue;
    const std::int64_t bytes = stream.blocks[call.block].bytes;
    if (bytes <= 0) continue;
    const allocator::BlockId id = ids[call.block] = simulator.malloc(static_cast<std::uint64_t>(bytes), 0);
    if (id == allocator::kNoBlock) return {};
    most = std::max(most, static_cast<std::int64_t>(simulator.reserved_bytes()));
    const allocator::Block& block = simulator.block(id);
    const bool was_split = block.next != allocator::kNone && !simulator.block(block.next).is_in_use();
    placed[call.block] = {bytes <= model::kLeastSplit || was_split, bytes - model::kLeastSplit};
  }
  if (most != stream.peak_reserved.count()) return {};
  return placed;
}

using TensorKind = std::tuple<std::int32_t, std::uint8_t, model::BlockOwner, bool>;

std::map<TensorKind, std::vector<std::size_t>> find_kinds(const model::AllocationStream& stream,
                                                          const model::StreamPass& pass) {
  std::map<TensorKind, std::vector<std::size_t>> kinds;
  const auto first = std::ranges::lower_bound(stream.blocks, pass.begin, {}, &StreamBlock::born);
  for (auto block = first; block != stream.blocks.end() && block->born < pass.end; ++block) {
    if (block->bytes <= model::kLeastSplit) continue;
    kinds[{block->module, block->stage, block->owner, block->product}].push_back(
        static_cast<std::size_t>(block - stream.blocks.begin()));
  }
  return kinds;
}

// What a module handed on in training is known to the byte.
void set_outputs(const model::AllocationStream& stream, const model::StreamPass& pass, std::vector<std::int64_t>& asked,
                 std::vector<Placed>& placed) {
  const auto first = std::ranges::lower_bound(stream.blocks, pass.begin, {}, &StreamBlock::born);
  for (auto block = first; block != stream.blocks.end() && block->born < pass.turn; ++block) {
    if (block->module < 0 || block->died <= pass.turn) continue;
    const std::int64_t output = stream.modules[static_cast<std::size_t>(block->module)].output.count();
    const std::int64_t rounded = (output + model::kBlockUnit - 1) / model::kBlockUnit * model::kBlockUnit;
    std::int64_t& bytes = asked[static_cast<std::size_t>(block - stream.blocks.begin())];
    if (output <= model::kLeastSplit || bytes < rounded || bytes - rounded > model::kLeastSplit) continue;
    bytes = rounded;
    if (!placed.empty()) placed[static_cast<std::size_t>(block - stream.blocks.begin())].is_exact = true;
  }
}

// What is known of one tensor in any pass is known in all.
void share_placed(const std::vector<std::vector<std::size_t>>& passes, std::size_t k, std::int64_t least,
                  const model::AllocationStream& stream, std::vector<Placed>& placed) {
  Placed shared{false, 0};
  const auto is_same = [&](std::size_t i) { return stream.blocks[i].bytes - least <= model::kLeastSplit; };
  for (const auto& blocks : passes) {
    const Placed& one = placed[blocks[k]];
    if (!is_same(blocks[k])) continue;
    shared.is_exact = shared.is_exact || (one.is_exact && stream.blocks[blocks[k]].bytes == least);
    shared.least = std::max(shared.least, one.least);
  }
  for (const auto& blocks : passes) {
    if (is_same(blocks[k])) placed[blocks[k]] = shared;
  }
}

bool is_of_batch(const StreamBlock& block) {
  return block.owner == model::BlockOwner::kActivations || block.owner == model::BlockOwner::kTemporaries ||
         block.owner == model::BlockOwner::kInputs;
}

// A tensor of which no block was split off is most likely as large as one near to it that was: networks are made of
// tensors of a few sizes.
void take_sizes_of_neighbours(const model::AllocationStream& stream, const std::vector<Placed>& placed,
                              std::vector<std::int64_t>& asked) {
  std::map<std::int64_t, std::vector<std::size_t>> exact;  // by size
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    const StreamBlock& block = stream.blocks[i];
    if (asked[i] > model::kLeastSplit && placed[i].is_exact && is_of_batch(block)) exact[asked[i]].push_back(i);
  }
  for (std::size_t i = 0; i < stream.blocks.size(); ++i) {
    if (asked[i] <= model::kLeastSplit || placed[i].is_exact || !is_of_batch(stream.blocks[i])) continue;
    const auto last = exact.upper_bound(asked[i]);
    std::size_t nearest = stream.blocks.size();
    std::int64_t bytes = asked[i];
    for (auto size = exact.lower_bound(placed[i].least); size != last; ++size) {
      const auto after = std::ranges::lower_bound(size->second, i);
      std::size_t distance = stream.blocks.size();
      if (after != size->second.end()) distance = *after - i;
      if (after != size->second.begin()) distance = std::min(distance, i - *(after - 1));
      if (distance > nearest || (distance == nearest && size->first < bytes)) continue;
      nearest = distance;
      bytes = size->first;
    }
    asked[i] = bytes;
  }
}

}  // namespace

std::vector<std::int64_t> find_asked(const model::AllocationStream& stream) {
  std::vector<std::int64_t> asked;
  asked.reserve(stream.blocks.size());
  for (const StreamBlock& block : stream.blocks) asked.push_back(block.bytes);
  std::vector<Placed> placed = find_placed(stream);
  std::map<std::tuple<TensorKind, std::size_t>, std::vector<std::vector<std::size_t>>> alike;
  for (const model::StreamPass& pass : stream.passes) {
    for (auto& [kind, blocks] : find_kinds(stream, pass)) alike[{kind, blocks.size()}].push_back(std::move(blocks));
  }
  for (const auto& [kind, passes] : alike) {
    for (std::size_t k = 0; k < passes.front().size(); ++k) {
      std::int64_t least = stream.blocks[passes.front()[k]].bytes;
      for (const auto& blocks : passes) least = std::min(least, stream.blocks[blocks[k]].bytes);
      for (const auto& blocks : passes) {
        if (asked[blocks[k]] - least <= model::kLeastSplit) asked[blocks[k]] = least;
      }
      if (!placed.empty()) share_placed(passes, k, least, stream, placed);
    }
  }
  for (const model::StreamPass& pass : stream.passes) set_outputs(stream, pass, asked, placed);
  if (!placed.empty()) take_sizes_of_neighbours(stream, placed, asked);
  return asked;
}

}  // namespace vramfit::plan
