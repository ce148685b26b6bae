#include "facts/module_calls.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

namespace vramfit::facts {
namespace {

using model::AllocationStream;
using model::StreamBlock;

// A piece that leaves so much of a call's bytes is a whole call: one piece of an interrupted call can, at most.
constexpr double kOfWholeCall = 0.75;

struct Piece {
  std::size_t from = 0, to = 0;  // blocks
  std::size_t count() const { return to - from; }
};

// The second: the meter looks at the second forward last.
const model::StreamPass& metered_pass(const AllocationStream& stream) {
  return stream.passes[std::min<std::size_t>(1, stream.passes.size() - 1)];
}

// The blocks of the pass's forward.
Piece blocks_of(const AllocationStream& stream, const model::StreamPass& pass) {
  const auto place = [&](model::StreamTime at) {
    const auto found = std::ranges::lower_bound(stream.blocks, at, {}, &StreamBlock::born);
    return static_cast<std::size_t>(found - stream.blocks.begin());
  };
  return {place(pass.begin), place(pass.turn)};
}

// The pieces of each module.
std::vector<std::vector<Piece>> find_pieces(const AllocationStream& stream) {
  std::vector<std::vector<Piece>> pieces(stream.modules.size());
  if (stream.passes.empty()) return pieces;
  const Piece all = blocks_of(stream, metered_pass(stream));
  for (std::size_t i = all.from; i < all.to; ++i) {
    for (std::int32_t m = stream.blocks[i].module; m >= 0; m = stream.modules[static_cast<std::size_t>(m)].parent) {
      std::vector<Piece>& of_module = pieces[static_cast<std::size_t>(m)];
      if (of_module.empty() || of_module.back().to != i) of_module.push_back({i, i});
      of_module.back().to = i + 1;
    }
  }
  return pieces;
}

// The bytes that a piece made and that were there when it ended. A library's work space stays, whoever was the first to
// need it.
double bytes_left_by(const AllocationStream& stream, const Piece& piece) {
  const model::StreamTime end = stream.blocks[piece.to - 1].born;
  std::int64_t left = 0;
  for (std::size_t i = piece.from; i < piece.to; ++i) {
    const StreamBlock& block = stream.blocks[i];
    const bool is_left = block.died > end && block.owner != model::BlockOwner::kWorkspaces;
    left += is_left ? block.bytes : 0;
  }
  return static_cast<double>(left);
}

// 0: it is called once. `noted`: calls in one forward of the root.
std::size_t blocks_of_call(const AllocationStream& stream, const std::vector<Piece>& pieces, double of_call,
                           double noted) {
  std::map<std::size_t, std::size_t> times;  // by how many blocks, of pieces that leave as much as a call
  std::size_t whole = 0;
  double left = 0;
  for (const Piece& piece : pieces) {
    const double of_piece = bytes_left_by(stream, piece);
    if (of_piece < kOfWholeCall * of_call) continue;
    ++times[piece.count()];
    ++whole;
    left += of_piece;
  }
  if (whole == 0) return 0;
  const std::size_t blocks = std::ranges::max_element(times, {}, [](const auto& each) { return each.second; })->first;
  const auto at_once = static_cast<std::size_t>(std::llround(left / of_call / static_cast<double>(whole)));
  if (noted > 1 && at_once > 1 && blocks % at_once == 0) return blocks / at_once;
  return whole > 1 ? blocks : 0;
}

}  // namespace

void find_module_calls(const std::vector<ModuleReading>& readings, AllocationStream& stream) {
  const auto pieces = find_pieces(stream);
  for (std::size_t m = 0; m < stream.modules.size(); ++m) {
    const auto calls = static_cast<double>(std::max<std::int64_t>(readings[m].calls, 1));
    const double of_call = static_cast<double>(readings[m].saved.count()) / calls;
    if (pieces[m].empty() || of_call <= 0) continue;
    model::StreamModule& module = stream.modules[m];
    module.blocks_of_call = blocks_of_call(stream, pieces[m], of_call, calls);
    if (module.blocks_of_call == 0) continue;
    module.output = base::Bytes(std::llround(static_cast<double>(module.output.count()) / calls));
  }
}

void add_up_calls(const AllocationStream& stream, std::vector<model::BlockLevel>& levels) {
  if (stream.passes.empty()) return;
  const model::StreamPass& pass = metered_pass(stream);
  const Piece all = blocks_of(stream, pass);
  struct Sum {
    std::int64_t blocks = 0, held = 0;
  };
  std::vector<Sum> sums(stream.modules.size());
  for (std::size_t i = all.from; i < all.to; ++i) {
    const StreamBlock& block = stream.blocks[i];
    const bool is_held = block.died > pass.turn && block.died <= pass.end;
    for (std::int32_t m = block.module; m >= 0; m = stream.modules[static_cast<std::size_t>(m)].parent) {
      Sum& sum = sums[static_cast<std::size_t>(m)];
      ++sum.blocks;
      sum.held += is_held ? block.bytes : 0;
    }
  }
  for (model::BlockLevel& level : levels) {
    for (model::ModuleBlock& block : level.blocks) {
      const auto module = std::ranges::find(stream.modules, block.name, &model::StreamModule::name);
      if (module == stream.modules.end() || module->blocks_of_call == 0) continue;
      const Sum& sum = sums[static_cast<std::size_t>(module - stream.modules.begin())];
      block.calls = std::max<std::int64_t>(1, sum.blocks / static_cast<std::int64_t>(module->blocks_of_call));
      block.saved = base::Bytes(sum.held);
      block.output = std::min(base::Bytes(module->output.count() * block.calls), block.saved);
    }
  }
}

}  // namespace vramfit::facts
