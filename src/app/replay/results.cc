#include "app/replay/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocator/attribution.h"
#include "model/snapshot_line.h"

namespace vramfit::app {

using allocator::ReplayRun;
using base::Bytes;

namespace {

constexpr std::size_t kMostOwners = 12;
constexpr std::size_t kMostSegments = 12;

Bytes bytes_of(std::uint64_t count) { return Bytes(static_cast<std::int64_t>(count)); }

// Owners by their name: two stacks that end in one line of the user's are one owner.
class Owners {
 public:
  Owners(const model::Snapshot& snapshot, const allocator::ReplayProgram& program)
      : snapshot_(snapshot), program_(program) {}

  allocator::OwnerId of(const allocator::StateBlock& block) {
    if (block.tag >= program_.slots.size()) return id("(not recorded)");
    const auto stack = static_cast<std::uint32_t>(program_.slots[block.tag].stack);
    const auto known = by_stack_.find(stack);
    if (known != by_stack_.end()) return known->second;
    return by_stack_[stack] = id(model::line_of(snapshot_, model::StackId{stack}));
  }
  const std::string& name(allocator::OwnerId owner) const { return names_[owner]; }

 private:
  allocator::OwnerId id(const std::string& name) {
    const auto [found, is_new] = by_name_.try_emplace(name, names_.size());
    if (is_new) names_.push_back(name);
    return found->second;
  }
  const model::Snapshot& snapshot_;
  const allocator::ReplayProgram& program_;
  std::vector<std::string> names_;
  std::map<std::string, allocator::OwnerId> by_name_;
  std::unordered_map<std::uint32_t, allocator::OwnerId> by_stack_;
};

std::int64_t entry_of(std::uint32_t entry) {
  return entry == allocator::kNotTraced ? -1 : static_cast<std::int64_t>(entry);
}

}  // namespace

model::ReplayProof to_model(const allocator::Proof& from) {
  model::ReplayProof proof;
  proof.is_same = from.is_same;
  proof.segments = from.segments;
  proof.same_segments = from.same_segments;
  proof.blocks = from.blocks;
  proof.same_blocks = from.same_blocks;
  proof.recorded_reserved = Bytes(from.recorded_reserved);
  proof.replayed_reserved = Bytes(from.replayed_reserved);
  proof.differences = from.differences;
  return proof;
}

model::ReplayTrial to_model(const model::Snapshot& snapshot, int device, const allocator::Settings& settings,
                            const ReplayRun& run, std::optional<std::uint64_t> needs) {
  model::ReplayTrial trial;
  trial.settings = allocator::to_string(settings);
  trial.fits = run.fits;
  if (needs) trial.needs = bytes_of(*needs);
  trial.peak_reserved = Bytes(run.peak_reserved);
  trial.peak_allocated = Bytes(run.peak_allocated);
  trial.driver_allocations = run.device_allocations;
  trial.driver_frees = run.device_frees;
  trial.retries = run.retries;
  if (run.oom) {
    model::ReplayOom oom;
    oom.tried = bytes_of(run.oom->tried_bytes);
    oom.requested = bytes_of(run.oom->requested_bytes);
    oom.allocated = bytes_of(run.oom->allocated);
    oom.reserved = bytes_of(run.oom->reserved);
    oom.entry = entry_of(run.oom_entry);
    if (oom.entry >= 0) {
      oom.where = model::line_of(snapshot, snapshot.traces[static_cast<std::size_t>(device)][run.oom_entry].stack);
    }
    trial.oom = oom;
  }
  return trial;
}

model::Fragmentation to_model(const model::Snapshot& snapshot, const allocator::ReplayProgram& program,
                              const ReplayRun& run, const allocator::Settings& settings) {
  Owners owners(snapshot, program);
  const allocator::Attribution from =
      allocator::attribute(run.worst, settings, [&](const allocator::StateBlock& block) { return owners.of(block); });
  model::Fragmentation to;
  to.entry = entry_of(run.worst_entry);
  to.is_at_oom = run.oom.has_value();
  to.reserved = bytes_of(from.reserved);
  to.live = bytes_of(from.live);
  to.free = bytes_of(from.free);
  to.returnable = bytes_of(from.returnable);
  to.pinned = bytes_of(from.pinned);
  to.in_pools = bytes_of(from.in_pools);
  to.largest_hole = bytes_of(from.largest_hole);
  for (std::size_t i = 0; i < std::min(kMostOwners, from.owners.size()); ++i) {
    const allocator::PinningOwner& one = from.owners[i];
    to.owners.push_back({owners.name(one.owner), bytes_of(one.pinned_alone), bytes_of(one.pinned_shared),
                         bytes_of(one.live), one.blocks, one.segments});
  }
  for (std::size_t i = 0; i < std::min(kMostSegments, from.segments.size()); ++i) {
    const allocator::PinnedSegment& one = from.segments[i];
    model::ReplaySegment segment;
    segment.address = fmt::format("{:#x}", one.address);
    segment.pool = one.kind == allocator::PoolKind::kSmall ? "small" : "large";
    if (!one.pool.is_default()) segment.pool += fmt::format(" of pool {},{}", one.pool.first, one.pool.second);
    segment.total = bytes_of(one.total);
    segment.free = bytes_of(one.free);
    segment.largest_hole = bytes_of(one.largest_hole);
    segment.live = bytes_of(one.live);
    segment.live_blocks = one.live_blocks;
    for (const allocator::OwnerId owner : one.owners) segment.owners.push_back(owners.name(owner));
    to.segments.push_back(std::move(segment));
  }
  return to;
}

}  // namespace vramfit::app
