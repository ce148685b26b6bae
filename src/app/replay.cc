#include "app/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "allocator/attribution.h"
#include "allocator/replay.h"
#include "allocator/search.h"
#include "devices/overhead.h"
#include "ingest/snapshot/reader.h"
#include "job/platforms.h"
#include "model/snapshot_line.h"

namespace vramfit::app {

namespace {

using allocator::OwnRules;
using allocator::ReplayOptions;
using allocator::ReplayRun;
using base::Bytes;

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

int first_traced(const model::Snapshot& snapshot) {
  for (std::size_t device = 0; device < snapshot.traces.size(); ++device) {
    if (!snapshot.traces[device].empty()) return static_cast<int>(device);
  }
  return 0;
}

std::int64_t entry_of(std::uint32_t entry) {
  return entry == allocator::kNotTraced ? -1 : static_cast<std::int64_t>(entry);
}

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

// What PyTorch may reserve, and how that is known.
struct Capacity {
  std::optional<std::uint64_t> bytes;
  std::string source;
};

Capacity capacity_of(const ReplayRequest& request, const OwnRules& own) {
  if (request.capacity) {
    return {static_cast<std::uint64_t>(request.capacity->count()), "as given"};
  }
  if (request.card) {
    devices::OverheadOptions options;
    options.total = request.card->total;
    options.cuda_major = job::cuda_major_of_wheel(own.rules.version.major, own.rules.version.minor);
    const model::EmulatedCard card = devices::emulate(request.card->card, options);
    constexpr int kUsual = 2;  // cuBLAS and cuDNN
    const Bytes held = devices::total_of(devices::find_overhead(request.card->card, options), kUsual);
    const Bytes left = card.total - held;
    return {static_cast<std::uint64_t>(std::max<std::int64_t>(left.count(), 0)),
            fmt::format("{} with {}, less {} for its context and libraries", card.card.name, to_string(card.total),
                        to_string(held))};
  }
  if (own.program.capacity) return {own.program.capacity, "reserved and free when the recording ran out of memory"};
  return {std::nullopt, "no OOM in the recording and no card named: memory without end"};
}

base::Result<allocator::Settings> asked_settings(const ReplayRequest& request, const OwnRules& own) {
  return allocator::parse_settings(fmt::format("{}", fmt::join(request.settings, ",")), own.rules, own.settings);
}

void search(const OwnRules& own, const ReplayOptions& options, const model::Snapshot& snapshot,
            base::ProgressSink& progress, model::ReplayResult& result) {
  const auto grid = allocator::settings_grid(own.settings, own.rules);
  const auto trials = allocator::search_settings(own.program, options, grid, {}, [&](std::size_t i, std::size_t all) {
    progress.update(fmt::format("replaying under other settings: {} of {}", i + 1, all));
  });
  for (const allocator::Trial& trial : trials) {
    result.search.push_back(to_model(snapshot, result.device, trial.settings, trial.run, trial.needs));
    result.search.back().is_own = trial.settings == own.settings;
    result.needs_are_unknown |= !trial.needs && options.capacity;
  }
}

}  // namespace

base::Result<model::ReplayResult> replay(const ReplayRequest& request, base::ProgressSink& progress) {
  progress.update("reading " + request.file.filename().string());
  const auto snapshot = ingest::read_snapshot(request.file);
  if (!snapshot) return std::unexpected(snapshot.error());
  std::optional<allocator::TorchVersion> version;
  if (request.torch) {
    const auto parsed = allocator::parse_torch_version(*request.torch);
    if (!parsed) return std::unexpected(parsed.error());
    version = *parsed;
  }
  model::ReplayResult result;
  result.file = request.file.string();
  result.device = request.device.value_or(first_traced(*snapshot));
  result.damage = snapshot->damage;
  progress.update("replaying the recording under its own settings");
  const auto own = allocator::find_own_rules(*snapshot, result.device, version);
  if (!own) return std::unexpected(own.error());
  if (!own->settings.is_native) {
    return base::fail(base::ErrorCode::kUnsupported, "the recording used the cudaMallocAsync backend", {},
                      "only PyTorch's native allocator can be replayed");
  }
  result.torch = fmt::format("{}.{}", own->rules.version.major, own->rules.version.minor);
  result.events = static_cast<std::int64_t>(snapshot->traces[static_cast<std::size_t>(result.device)].size());
  result.seeded_blocks = own->program.seeded_blocks;
  result.seeded = Bytes(own->program.seeded_bytes);
  result.unmatched_entries = own->program.unmatched_entries;
  result.recorded_peak = bytes_of(own->program.recorded_peak);
  result.proof = to_model(own->proof);

  const Capacity capacity = capacity_of(request, *own);
  if (capacity.bytes) result.capacity = bytes_of(*capacity.bytes);
  result.capacity_source = capacity.source;
  ReplayOptions options;
  options.rules = own->rules;
  options.settings = own->settings;
  options.capacity = capacity.bytes;
  options.is_exact = !request.card && !request.capacity;
  options.keeps_worst_state = request.settings.empty();
  const auto needs = [&] {
    return capacity.bytes ? std::optional(allocator::find_least_capacity(own->program, options)) : std::nullopt;
  };
  const ReplayRun as_it_was = allocator::replay(own->program, options);
  options.is_exact = false;
  result.own = to_model(*snapshot, result.device, own->settings, as_it_was, needs());
  result.own.is_own = true;
  if (request.settings.empty()) {
    result.fragmentation = to_model(*snapshot, own->program, as_it_was, own->settings);
  } else {
    const auto asked = asked_settings(request, *own);
    if (!asked) return std::unexpected(asked.error());
    options.settings = *asked;
    options.keeps_worst_state = true;
    const ReplayRun run = allocator::replay(own->program, options);
    result.asked = to_model(*snapshot, result.device, *asked, run, needs());
    result.fragmentation = to_model(*snapshot, own->program, run, *asked);
  }
  options.keeps_worst_state = false;
  if (request.search) search(*own, options, *snapshot, progress, result);
  progress.clear();
  return result;
}

}  // namespace vramfit::app
