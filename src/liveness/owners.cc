#include "liveness/owners.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "liveness/module_tree.h"
#include "model/number_text.h"
#include "model/owner_names.h"
#include "model/recording.h"

namespace vramfit::liveness {

using model::OwnerRow;
using model::Recording;

namespace {

using model::BlockOwner;
namespace name = model::owner;

constexpr bool kOfModel = true, kNamedByTag = true;
// In the order of `Owner`.
constexpr auto kOwners = std::to_array<OwnerTraits>({
    {Owner::kWeights, VF_OWNER_WEIGHT, name::kWeights, BlockOwner::kWeights, kOfModel},
    {Owner::kGradients, VF_OWNER_GRADIENT, name::kGradients, BlockOwner::kGradients, kOfModel},
    {Owner::kOptimizer, VF_OWNER_OPTIMIZER, name::kOptimizer, BlockOwner::kOptimizer, kOfModel},
    {Owner::kInputs, VF_OWNER_INPUT, name::kInputs, BlockOwner::kInputs},
    {Owner::kActivations, VF_OWNER_ACTIVATION, name::kActivations, BlockOwner::kActivations},
    {Owner::kWorkspaces, VF_OWNER_WORKSPACE, name::kWorkspaces, BlockOwner::kWorkspaces},
    {Owner::kBuffers, VF_OWNER_BUFFER, name::kBuffers, BlockOwner::kBuffers, kOfModel},
    {Owner::kAverages, VF_OWNER_AVERAGE, name::kAverages, BlockOwner::kBuffers, kOfModel, kNamedByTag},
    {Owner::kMasters, VF_OWNER_MASTER, name::kMasters, BlockOwner::kBuffers, kOfModel},
    {Owner::kQuantization, VF_OWNER_QUANTIZATION, name::kQuantization, BlockOwner::kBuffers, kOfModel},
    {Owner::kCache, VF_OWNER_CACHE, name::kCache, BlockOwner::kActivations, !kOfModel, kNamedByTag},
    {Owner::kOtherModels, VF_OWNER_OTHER_MODEL, name::kOtherModels, BlockOwner::kBuffers, kOfModel, kNamedByTag},
    {Owner::kTemporaries, VF_OWNER_UNKNOWN, name::kTemporaries, BlockOwner::kTemporaries},
    {Owner::kLoaded, VF_OWNER_UNKNOWN, name::kLoaded, BlockOwner::kBuffers},
    {Owner::kOtherTensors, VF_OWNER_UNKNOWN, name::kOtherTensors, BlockOwner::kTemporaries},
});

constexpr bool are_in_order() {
  for (std::size_t i = 0; i < kOwners.size(); ++i) {
    if (kOwners[i].owner != static_cast<Owner>(i)) return false;
  }
  return kOwners.back().owner == Owner::kOtherTensors;
}
static_assert(are_in_order());

constexpr const OwnerTraits* find_by_tag(int tag) {
  const auto found = std::ranges::find_if(kOwners, [&](const OwnerTraits& owner) { return owner.tag == tag; });
  return tag == VF_OWNER_UNKNOWN || found == kOwners.end() ? nullptr : found;
}

// An owner that the contract gets anew does not compile before it has a row.
constexpr bool has_every_tag() {
  for (int tag = VF_OWNER_UNKNOWN + 1; tag < model::kOwnerCount; ++tag) {
    if (find_by_tag(tag) == nullptr) return false;
  }
  return true;
}
static_assert(has_every_tag());

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

// The thing that the rows of an owner are named after: the module that made activations, the holder of what stands for
// itself.
std::uint32_t name_of(const Block& block) {
  if (traits_of(owner_of(block)).is_named_by_tag) return block.tag;
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

Owner owner_of(const Block& block) {
  const OwnerTraits* tagged = find_by_tag(block.owner);
  return tagged != nullptr ? tagged->owner : owner_of_untagged(block);
}

const OwnerTraits& traits_of(Owner owner) { return kOwners[static_cast<std::size_t>(owner)]; }
std::string_view owner_name(const Block& block) { return traits_of(owner_of(block)).name; }
BlockOwner block_owner(const Block& block) { return traits_of(owner_of(block)).in_plan; }
bool is_model_state(const Block& block) { return traits_of(owner_of(block)).is_model_state; }

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
  const auto add = [&](std::string_view owner, Bytes bytes) {
    if (bytes.count() != 0) rows.push_back({std::string(owner), "", "", history.device, bytes, 0});
  };
  if (at >= history.levels.size()) return rows;
  const Level& moment = history.levels[at];
  const Bytes unused = moment.reserved - blocks;
  const SegmentUse use = measure_free_space(history, at);
  // Without segment events (a real card) the two can't be told apart: it is all called cached.
  const Bytes fragmented = std::clamp(use.fragmented, Bytes(0), std::max(unused, Bytes(0)));
  add(name::kCached, unused - fragmented);
  add(name::kFragmented, fragmented);
  const Level& outside = options.outside < history.levels.size() ? history.levels[options.outside] : moment;
  add(name::kContext, outside.overheads.context);
  add(name::kLibraries, outside.overheads.libraries);
  add(name::kOccupied, options.occupied);
  if (outside.device.count() >= 0) {
    const Bytes rest = rest_of(outside) - options.occupied;
    add(options.rest_is_others && rest.count() > 0 ? name::kOccupied : name::kUnexplained, rest);
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
