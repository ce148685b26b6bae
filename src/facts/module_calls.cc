#include "facts/module_calls.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

namespace vramfit::facts {
namespace {

using model::AllocationStream;
using model::StreamBlock;

// Of a call that something else interrupted, one piece at most leaves so much.
constexpr double kOfWholeCall = 0.75;

struct Piece {
  std::size_t from = 0, to = 0;  // blocks
  std::size_t count() const { return to - from; }
};

// By module. Of the second pass: the meter looks at the second forward last.
std::vector<std::vector<Piece>> find_pieces(const AllocationStream& stream) {
  std::vector<std::vector<Piece>> pieces(stream.modules.size());
  if (stream.passes.empty()) return pieces;
  const model::StreamPass& pass = stream.passes[std::min<std::size_t>(1, stream.passes.size() - 1)];
  const auto place = [&](model::StreamTime at) {
    const auto found = std::ranges::lower_bound(stream.blocks, at, {}, &StreamBlock::born);
    return static_cast<std::size_t>(found - stream.blocks.begin());
  };
  for (std::size_t i = place(pass.begin), to = place(pass.turn); i < to; ++i) {
    for (std::int32_t m = stream.blocks[i].module; m >= 0; m = stream.modules[static_cast<std::size_t>(m)].parent) {
      std::vector<Piece>& of_module = pieces[static_cast<std::size_t>(m)];
      if (of_module.empty() || of_module.back().to != i) of_module.push_back({i, i});
      of_module.back().to = i + 1;
    }
  }
  return pieces;
}

// Of what a piece made, what was there when it ended. A library's work space stays, whoever was the first to need it.
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

}  // namespace vramfit::facts
