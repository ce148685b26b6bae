#include "plan/stream/module_runs.h"

#include <cstdint>

namespace vramfit::plan {
namespace {

using model::AllocationStream;
using model::StreamModule;
using Runs = std::vector<ModuleRun>;

// Calls that came one right after the other make the same blocks in the same modules.
void add_calls(const AllocationStream& stream, const ModuleRun& piece, std::size_t each, Runs& runs) {
  const auto is_alike = [&] {
    for (std::size_t i = piece.from + each; i < piece.to; ++i) {
      if (stream.blocks[i].module != stream.blocks[i - each].module) return false;
    }
    return true;
  };
  if ((piece.to - piece.from) % each != 0 || !is_alike()) {
    runs.push_back(piece);
    return;
  }
  for (std::size_t i = piece.from; i < piece.to; i += each) runs.push_back({i, i + each});
}

}  // namespace

std::vector<Runs> find_module_runs(const AllocationStream& stream, std::size_t from, std::size_t to) {
  std::vector<Runs> pieces(stream.modules.size());
  for (std::size_t i = from; i < to; ++i) {
    for (std::int32_t m = stream.blocks[i].module; m >= 0; m = stream.modules[static_cast<std::size_t>(m)].parent) {
      const StreamModule& module = stream.modules[static_cast<std::size_t>(m)];
      Runs& of_module = pieces[static_cast<std::size_t>(m)];
      const bool goes_on = !of_module.empty() && (module.blocks_of_call == 0 || of_module.back().to == i);
      if (!goes_on) of_module.push_back({i, i});
      of_module.back().to = i + 1;
    }
  }
  std::vector<Runs> runs(stream.modules.size());
  for (std::size_t m = 0; m < pieces.size(); ++m) {
    const std::size_t each = stream.modules[m].blocks_of_call;
    if (each == 0) runs[m] = pieces[m];
    for (const ModuleRun& piece : pieces[m]) {
      if (each > 0) add_calls(stream, piece, each, runs[m]);
    }
  }
  return runs;
}

}  // namespace vramfit::plan
