// Reads the workspaces of convolutions out of a recording, beside a virtual run whose workspaces are marks.
//
//   recording     +y1 +4096 +y2      +y3 +900 +512     frees are left out
//   marked run    +y1 +m1   +y2 +m2  +y3 +m3  +m3
//   read          m1 = 4096, m2 = 0, m3 = 512 of at most 900: benchmark mode took the largest once
#ifndef VRAMFIT_COMPARE_WORKSPACES_H
#define VRAMFIT_COMPARE_WORKSPACES_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "compare/event_stream.h"
#include "model/layer_workspace.h"

namespace vramfit::compare {

// The convolution that each size of a workspace stands for in the marked run; empty: for several.
using Marks = std::unordered_map<std::int64_t, std::string>;

struct WorkspaceReading {
  std::vector<model::LayerWorkspace> layers;  // by name
  std::size_t unclear = 0;                    // convolutions that were met only where both sides differ in more
};

WorkspaceReading read_workspaces(const EventStream& recorded, const EventStream& marked, const Marks& marks);

}  // namespace vramfit::compare

#endif
