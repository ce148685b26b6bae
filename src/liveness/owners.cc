#include "liveness/owners.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "liveness/module_tree.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::OwnerRow;
using model::Recording;

namespace {

constexpr auto kOwnerNames = std::to_array<std::string_view>(
    {"weights", "gradients", "optimizer", "inputs", "activations", "workspaces", "buffers", "EMA copies",
     "fp32 masters", "quantization state", "KV cache", "other models", "temporaries", "loaded", "other tensors"});
static_assert(kOwnerNames.size() == static_cast<std::size_t>(Owner::kOtherTensors) + 1);

Owner owner_of_untagged(const Block& block) {
  switch (block.stage) {
    case VF_STAGE_FORWARD:
      return Owner::kActivations;
    case VF_STAGE_INPUT:
      return Owner::kInputs;
    case VF_STAGE_BACKWARD:
    case VF_STAGE_OPTIMIZER:
      return Owner::kTemporaries;
    default:
      break;
  }
  if (block.scope != 0) return Owner::kActivations;
  return block.phase == VF_PHASE_LOAD ? Owner::kLoaded : Owner::kOtherTensors;
}

// What the rows of an owner are named after: the module that made activations, the holder of what stands for itself.
std::uint32_t name_of(const Block& block) {
  if (block.owner == VF_OWNER_AVERAGE || block.owner == VF_OWNER_CACHE || block.owner == VF_OWNER_OTHER_MODEL) {
    return block.tag;
  }
  return owner_of(block) == Owner::kActivations ? block.scope : 0;
}

std::string main_line(const std::map<std::string, Bytes>& lines) {
  const auto most =
      std::max_element(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == lines.end() ? "" : most->first;
}

struct SegmentUse {
  Bytes cached, fragmented;
};

// Free space within the living segments; blocks and segments of one process never overlap.
SegmentUse measure_free_space(const CardHistory& history, EventIndex at) {
  std::map<std::pair<int, std::uint64_t>, std::pair<const Segment*, Bytes>> segments;
  for (const Segment& segment : history.segments) {
    if (segment.lives_at(at)) segments[{segment.process, segment.address}] = {&segment, Bytes(0)};
  }
  for (const Block& block : history.blocks) {
    if (!block.lives_at(at)) continue;
    auto after = segments.upper_bound({block.process, block.address});
    if (after == segments.begin()) continue;
    auto& [segment, used] = std::prev(after)->second;
    if (segment->process == block.process) used += block.size;
  }
  SegmentUse use;
  for (const auto& [where, entry] : segments) {
    const auto& [segment, used] = entry;
    if (used.count() == 0) {
      use.cached += segment->size;
    } else if (segment->size > used) {
      use.fragmented += segment->size - used;
    }
  }
  return use;
}

}  // namespace

// No `default`: an owner that the contract gets anew does not compile before it is called something here.
Owner owner_of(const Block& block) {
  switch (static_cast<vf_owner>(block.owner)) {
    case VF_OWNER_WEIGHT:
      return Owner::kWeights;
    case VF_OWNER_GRADIENT:
      return Owner::kGradients;
    case VF_OWNER_OPTIMIZER:
      return Owner::kOptimizer;
    case VF_OWNER_INPUT:
      return Owner::kInputs;
    case VF_OWNER_ACTIVATION:
      return Owner::kActivations;
    case VF_OWNER_WORKSPACE:
      return Owner::kWorkspaces;
    case VF_OWNER_BUFFER:
      return Owner::kBuffers;
    case VF_OWNER_AVERAGE:
      return Owner::kAverages;
    case VF_OWNER_MASTER:
      return Owner::kMasters;
    case VF_OWNER_QUANTIZATION:
      return Owner::kQuantization;
    case VF_OWNER_CACHE:
      return Owner::kCache;
    case VF_OWNER_OTHER_MODEL:
      return Owner::kOtherModels;
    case VF_OWNER_UNKNOWN:
      break;
  }
  return owner_of_untagged(block);
}

std::string_view owner_name(const Block& block) { return kOwnerNames[static_cast<std::size_t>(owner_of(block))]; }

bool is_model_state(const Block& block) {
  switch (static_cast<vf_owner>(block.owner)) {
    case VF_OWNER_WEIGHT:
    case VF_OWNER_GRADIENT:
    case VF_OWNER_OPTIMIZER:
    case VF_OWNER_BUFFER:
    case VF_OWNER_AVERAGE:
    case VF_OWNER_MASTER:
    case VF_OWNER_QUANTIZATION:
    case VF_OWNER_OTHER_MODEL:
      return true;
    case VF_OWNER_UNKNOWN:
    case VF_OWNER_INPUT:
    case VF_OWNER_ACTIVATION:
    case VF_OWNER_WORKSPACE:
    case VF_OWNER_CACHE:
      return false;
  }
  return false;
}

std::vector<OwnerRow> find_owners(const CardHistory& history, EventIndex at, std::span<const Recording> recordings,
                                  const OwnerOptions& options) {
  std::map<std::string, ModuleSums> by_owner;
  Bytes blocks;
  for (const Block& block : history.blocks) {
    if (!block.lives_at(at)) continue;
    const Recording& recording = recordings[static_cast<std::size_t>(block.process)];
    const std::string owner(owner_name(block));
    ModuleSum& sum = by_owner[owner][unwrapped_name(recording.text(name_of(block)))];
    sum.bytes += block.size;
    ++sum.blocks;
    if (block.line != 0) sum.lines[std::string(recording.text(block.line))] += block.size;
    blocks += block.size;
  }
  std::vector<OwnerRow> rows;
  for (const auto& [owner, sums] : by_owner) {
    for (const auto& [name, sum] : fold_modules(sums, options.module_rows)) {
      rows.push_back({owner, name, main_line(sum.lines), history.device, sum.bytes, sum.blocks});
    }
  }
  std::stable_sort(rows.begin(), rows.end(), [](const OwnerRow& a, const OwnerRow& b) { return a.bytes > b.bytes; });
  const auto add = [&](std::string owner, Bytes bytes) {
    if (bytes.count() != 0) rows.push_back({std::move(owner), "", "", history.device, bytes, 0});
  };
  if (at >= history.levels.size()) return rows;
  const Level& moment = history.levels[at];
  const Bytes unused = moment.reserved - blocks;
  const SegmentUse use = measure_free_space(history, at);
  // Without segment events (a real card) the two can't be told apart: it is all called cached.
  const Bytes fragmented = std::clamp(use.fragmented, Bytes(0), std::max(unused, Bytes(0)));
  add("cached", unused - fragmented);
  add("fragmented", fragmented);
  const Level& outside = options.outside < history.levels.size() ? history.levels[options.outside] : moment;
  add("context", outside.overheads.context);
  add("libraries", outside.overheads.libraries);
  add("occupied", options.occupied);
  if (outside.device.count() >= 0) {
    const Bytes rest = rest_of(outside) - options.occupied;
    add(options.rest_is_others && rest.count() > 0 ? "occupied" : "unexplained", rest);
  }
  return rows;
}

std::vector<model::LineRow> find_lines(const CardHistory& history, EventIndex at, std::span<const Recording> recordings,
                                       std::size_t limit) {
  std::map<std::string, std::pair<Bytes, std::int64_t>> lines;
  for (const Block& block : history.blocks) {
    if (!block.lives_at(at) || block.line == 0) continue;
    auto& [bytes, count] = lines[std::string(recordings[static_cast<std::size_t>(block.process)].text(block.line))];
    bytes += block.size;
    ++count;
  }
  std::vector<model::LineRow> rows;
  for (const auto& [line, sum] : lines) rows.push_back({line, history.device, sum.first, sum.second});
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (rows.size() > limit) rows.resize(limit);
  return rows;
}

}  // namespace vramfit::liveness
