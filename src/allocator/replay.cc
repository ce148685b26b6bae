#include "allocator/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "allocator/simulator.h"

namespace vramfit::allocator {
namespace {

constexpr std::uint64_t kEndless = std::uint64_t{1} << 48;  // more than any card, and 9/8 of it can be reserved
constexpr StreamHandle kOtherStream = ~StreamHandle{0};
constexpr std::size_t kShownDifferences = 8;

// One pass over a program. A pool takes the requests of all streams while calls are made in it.
class Pass {
 public:
  Pass(const ReplayProgram& program, const ReplayOptions& options)
      : program_(program),
        options_(options),
        device_(options.capacity.value_or(kEndless), 0, options.is_exact ? program.addresses : RecordedAddresses{}),
        simulator_(device_, options.rules, options.settings),
        blocks_(program.slots.size(), kNoBlock) {}

  // Up to a call, or to the end.
  void run(std::uint32_t until = UINT32_MAX);
  ReplayRun result() const;
  AllocatorState state() const { return simulator_.state(); }
  std::uint32_t worst_call() const { return worst_call_; }

 private:
  void seed();
  bool make(const ReplayCall& call, std::uint32_t index);
  bool allocate(const ReplayCall& call);
  void enter(std::uint8_t pool);
  void note_oom(std::uint32_t index);

  const ReplayProgram& program_;
  const ReplayOptions& options_;
  RecordedDevice device_;
  Simulator simulator_;
  std::vector<BlockId> blocks_;
  std::uint8_t pool_ = 0;
  ReplayRun run_;
  std::uint64_t most_reserved_ = 0;
  std::uint32_t worst_call_ = 0;
};

void Pass::seed() {
  if (options_.is_exact) {
    simulator_.adopt(program_.seed);
    // The simulator numbers blocks as it meets them: find each by its address.
    std::map<std::uint32_t, BlockId> by_tag;
    for (const auto& [id, tag] : simulator_.live_blocks()) by_tag[tag] = id;
    for (std::uint32_t slot = 0; slot < program_.seeded_blocks; ++slot) blocks_[slot] = by_tag.at(slot);
    return;
  }
  for (const StateSegment& segment : program_.seed.segments) {
    for (const StateBlock& block : segment.blocks) {
      if (block.state == BlockState::kInactive || run_.oom) continue;
      ReplayCall call;
      call.bytes = std::max<std::uint64_t>(block.requested, 1);
      call.slot = block.tag;
      blocks_[block.tag] = simulator_.malloc(call.bytes, segment.stream, block.tag);
      if (blocks_[block.tag] == kNoBlock) note_oom(0);
      if (block.state == BlockState::kActivePendingFree && blocks_[block.tag] != kNoBlock) {
        simulator_.record_stream(blocks_[block.tag], kOtherStream);
        simulator_.free(blocks_[block.tag]);
      }
    }
  }
}

void Pass::enter(std::uint8_t pool) {
  if (pool == pool_) return;
  if (pool_ != 0) {
    simulator_.end_allocate_to_pool(program_.pools[pool_]);
    simulator_.release_pool(program_.pools[pool_]);
  }
  pool_ = pool;
  if (pool_ == 0) return;
  const PoolId id = program_.pools[pool_];
  if (!simulator_.has_pool(id)) simulator_.create_pool(id);  // somebody's, until the end of the recording
  simulator_.begin_allocate_to_pool(id, std::nullopt);
}

void Pass::note_oom(std::uint32_t index) {
  run_.fits = false;
  if (run_.oom) return;
  run_.oom = simulator_.last_oom();
  run_.oom_entry = index < program_.entry_of.size() ? program_.entry_of[index] : kNotTraced;
  worst_call_ = index;
}

bool Pass::allocate(const ReplayCall& call) {
  enter(call.pool);
  blocks_[call.slot] = simulator_.malloc(call.bytes, program_.streams[call.stream], call.slot);
  return blocks_[call.slot] != kNoBlock;
}

// False: the job would have ended here.
bool Pass::make(const ReplayCall& call, std::uint32_t index) {
  using Kind = ReplayCall::Kind;
  switch (call.kind) {
    case Kind::kAllocate:
      if (allocate(call)) break;
      note_oom(index);
      return false;
    case Kind::kFree:
      simulator_.free(blocks_[call.slot]);
      break;
    case Kind::kUse:
      simulator_.record_stream(blocks_[call.slot], kOtherStream);
      break;
    case Kind::kComplete:
      simulator_.complete(blocks_[call.slot], call.slot);
      break;
    case Kind::kEmptyCache:
      enter(0);
      simulator_.empty_cache();
      break;
    case Kind::kRelease:  // with a known capacity the simulator sees the want itself
      if (!options_.is_exact || options_.capacity) break;
      enter(0);
      simulator_.empty_cache();
      break;
    case Kind::kAttempt: {
      enter(call.pool);
      if (options_.is_exact && !options_.capacity) break;
      const BlockId block = simulator_.malloc(call.bytes, program_.streams[call.stream], UINT32_MAX);
      if (block == kNoBlock) {
        note_oom(index);
      } else {
        simulator_.free(block);
      }
      break;
    }
  }
  return true;
}

void Pass::run(std::uint32_t until) {
  seed();
  run_.is_ended = run_.oom.has_value();
  const auto end = static_cast<std::uint32_t>(std::min<std::size_t>(program_.calls.size(), until));
  for (; !run_.is_ended && run_.calls < end; ++run_.calls) {
    run_.is_ended = !make(program_.calls[run_.calls], run_.calls);
    if (simulator_.reserved_bytes() > most_reserved_ && !run_.oom) {
      most_reserved_ = simulator_.reserved_bytes();
      worst_call_ = run_.calls;
    }
  }
  enter(0);
}

ReplayRun Pass::result() const {
  ReplayRun run = run_;
  const Statistics& statistics = simulator_.statistics();
  run.peak_reserved = statistics.of_both(StatKind::kReservedBytes).peak;
  run.peak_allocated = statistics.of_both(StatKind::kAllocatedBytes).peak;
  run.device_allocations = statistics.device_allocations;
  run.device_frees = statistics.device_frees;
  run.retries = statistics.retries;
  run.final = simulator_.state();
  return run;
}

}  // namespace

ReplayRun replay(const ReplayProgram& program, const ReplayOptions& options) {
  Pass pass(program, options);
  pass.run();
  ReplayRun run = pass.result();
  if (!options.keeps_worst_state) return run;
  // Once more up to the moment that was the worst: keeping every state on the way would cost more.
  const std::uint32_t worst = pass.worst_call();
  Pass again(program, options);
  again.run(worst + 1);
  run.worst = again.state();
  run.worst_entry = worst < program.entry_of.size() ? program.entry_of[worst] : kNotTraced;
  return run;
}

std::uint64_t find_least_capacity(const ReplayProgram& program, ReplayOptions options) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
  options.keeps_worst_state = false;
  options.capacity.reset();
  const ReplayRun endless = replay(program, options);
  std::uint64_t low = static_cast<std::uint64_t>(endless.peak_allocated) / kStep;
  std::uint64_t high = (static_cast<std::uint64_t>(endless.peak_reserved) + kStep - 1) / kStep;
  while (low < high) {
    const std::uint64_t middle = (low + high) / 2;
    options.capacity = middle * kStep;
    if (replay(program, options).fits) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high * kStep;
}

Proof compare(const AllocatorState& recorded, const AllocatorState& replayed) {
  Proof proof;
  const auto differ = [&](std::string what) {
    if (proof.differences.size() < kShownDifferences) proof.differences.push_back(std::move(what));
  };
  std::map<std::uint64_t, const StateSegment*> by_address;
  for (const StateSegment& segment : replayed.segments) {
    by_address[segment.address] = &segment;
    proof.replayed_reserved += static_cast<std::int64_t>(segment.total);
  }
  for (const StateSegment& segment : recorded.segments) {
    ++proof.segments;
    proof.recorded_reserved += static_cast<std::int64_t>(segment.total);
    const auto found = by_address.find(segment.address);
    const bool is_same = found != by_address.end() && found->second->total == segment.total;
    proof.same_segments += is_same ? 1 : 0;
    if (!is_same) differ(fmt::format("segment {:#x} of {} bytes is not there", segment.address, segment.total));
    std::map<std::uint64_t, const StateBlock*> blocks;
    if (found != by_address.end()) {
      for (const StateBlock& block : found->second->blocks) blocks[block.address] = &block;
    }
    for (const StateBlock& block : segment.blocks) {
      if (block.state == BlockState::kInactive) continue;
      ++proof.blocks;
      const auto other = blocks.find(block.address);
      const bool matches =
          other != blocks.end() && other->second->size == block.size && other->second->state != BlockState::kInactive;
      proof.same_blocks += matches ? 1 : 0;
      if (!matches) differ(fmt::format("block {:#x} of {} bytes is not there", block.address, block.size));
    }
  }
  if (replayed.segments.size() != recorded.segments.size()) {
    differ(fmt::format("{} segments, and {} were recorded", replayed.segments.size(), recorded.segments.size()));
  }
  proof.is_same = proof.differences.empty();
  return proof;
}

base::Result<OwnRules> find_own_rules(const model::Snapshot& snapshot, int device,
                                      std::optional<TorchVersion> version) {
  std::vector<TorchVersion> candidates;
  if (version) {
    candidates.push_back(*version);
  } else {
    const auto least = parse_torch_version(snapshot.torch_at_least);
    const TorchVersion from = least ? *least : TorchVersion{2, 0};
    candidates.push_back(from);
    for (const Rule& rule : known_rules()) {
      if (rule.torch_from > from) candidates.push_back(rule.torch_from);
    }
    std::sort(candidates.begin(), candidates.end());
    candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  }
  std::optional<OwnRules> best;
  for (const TorchVersion candidate : candidates) {
    OwnRules own;
    own.rules = rules_of(candidate);
    auto settings = settings_of(snapshot, own.rules);
    if (!settings) return std::unexpected(settings.error());
    own.settings = *settings;
    auto program = build_replay(snapshot, device, own.settings, own.rules);
    if (!program) return std::unexpected(program.error());
    own.program = std::move(*program);
    ReplayOptions options;
    options.rules = own.rules;
    options.settings = own.settings;
    options.capacity = own.program.capacity;
    options.is_exact = true;
    own.proof = compare(own.program.final, replay(own.program, options).final);
    const auto score = [](const Proof& proof) {
      return proof.same_segments + proof.same_blocks + (proof.is_same ? 1 : 0);
    };
    if (!best || score(own.proof) > score(best->proof)) best = std::move(own);
    if (best->proof.is_same) break;
  }
  return std::move(*best);
}

}  // namespace vramfit::allocator
