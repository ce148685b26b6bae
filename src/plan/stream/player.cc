#include "plan/stream/player.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "allocator/linux_device.h"
#include "allocator/simulator.h"
#include "model/number_text.h"
#include "plan/stream/asked.h"
#include "plan/stream/between.h"
#include "plan/stream/spliced.h"
#include "plan/stream/weight_copies.h"

namespace vramfit::plan {

struct StreamPlayer::Call {
  PlayTime at = 0;
  std::uint32_t block = 0;
  std::uint8_t phase = 0;
  bool is_birth = false;
  std::int64_t bytes = 0;  // of a birth; below zero: the cache is given back
};

struct StreamPlayer::Reshaped {
  std::vector<Life> lives;
  std::vector<PlayTime> emptied;
};

namespace {

constexpr std::size_t kMostPhases = 8;
constexpr double kSameReserved = 0.02;
constexpr std::uint64_t kPlenty = std::uint64_t{1} << 46;
// The share within which the least card is found.
constexpr double kNear = 0.005;

allocator::Rules rules_of_run(const std::string& torch_version) {
  const auto version = allocator::parse_torch_version(torch_version);
  return allocator::rules_of(version.value_or(allocator::TorchVersion{}));
}

const model::AllocationStream* find_stream(const model::Job& job, std::string_view technique) {
  const auto stream = job.streams.find(std::string(technique));
  return stream != job.streams.end() ? stream->second.get() : nullptr;
}

bool is_near(Bytes one, Bytes other) {
  return std::abs(static_cast<double>((one - other).count())) <= kSameReserved * static_cast<double>(other.count());
}

// Adds the moments at which the cache is emptied: before the first evaluation after training, each time.
void add_emptied(const model::AllocationStream& stream, std::vector<PlayTime>& emptied) {
  std::uint8_t before = VF_PHASE_LOAD;
  for (const model::StreamBlock& block : stream.blocks) {
    const bool begins = block.phase == VF_PHASE_VALIDATE && before == VF_PHASE_TRAIN;
    if (begins) emptied.push_back(at_event(block.born) - 1);
    before = block.phase;
  }
}

}  // namespace

StreamPlayer::StreamPlayer(const model::Job& job) : job_(job) {
  const model::AllocationStream* own = find_stream(job, "");
  if (own == nullptr) return;
  rules_ = rules_of_run(own->torch_version);
  std::vector<PlayTime> emptied;
  for (const model::StreamTime moment : own->emptied) emptied.push_back(at_event(moment));
  Reshaping reshaping = find_reshaping(job, start_forecast(job), start_forecast(job), *own);
  for (const bool as_asked : {true, false}) {
    reshaping.as_asked = as_asked_ = as_asked;
    const auto lives = reshape(*own, reshaping);
    as_recorded_ = run(order(lives, emptied), lives.size(), {}).reserved;
    is_sound_ = is_near(as_recorded_, own->peak_reserved);
    if (is_sound_) return;
  }
}

const std::vector<std::int64_t>& StreamPlayer::asked_of(const model::AllocationStream& stream) const {
  const auto [known, is_new] = asked_.try_emplace(&stream);
  if (is_new) known->second = find_asked(stream);
  return known->second;
}

// Each run is played by what makes it come out as it was recorded, as the job's own is.
bool StreamPlayer::is_asked(const model::AllocationStream& stream) const {
  if (!as_asked_ || &stream == find_stream(job_, "")) return as_asked_;
  const auto [known, is_new] = is_asked_.try_emplace(&stream, true);
  if (!is_new) return known->second;
  std::vector<PlayTime> emptied;
  for (const model::StreamTime moment : stream.emptied) emptied.push_back(at_event(moment));
  Reshaping reshaping = find_reshaping(job_, start_forecast(job_), start_forecast(job_), stream);
  reshaping.asked = &asked_of(stream);
  const auto lives = reshape(stream, reshaping);
  known->second = is_near(run(order(lives, emptied), lives.size(), {}).reserved, stream.peak_reserved);
  return known->second;
}

model::AllocationStream StreamPlayer::as_played(const model::AllocationStream& stream) const {
  model::AllocationStream played = stream;
  if (!is_asked(stream)) return played;
  const std::vector<std::int64_t>& asked = asked_of(stream);
  for (std::size_t i = 0; i < asked.size(); ++i) played.blocks[i].bytes = asked[i];
  return played;
}

std::optional<StreamPlayer::Reshaped> StreamPlayer::reshape_for(const Forecast& forecast, const Forecast& begun) const {
  if (!is_sound_) return std::nullopt;
  const model::AllocationStream* stream = find_stream(job_, find_best_run(begun));
  if (stream == nullptr) return std::nullopt;
  std::optional<model::AllocationStream> between;
  const bool as_asked = is_asked(*stream);
  const model::AllocationStream* own = find_stream(job_, "");
  if (begun.inputs_left != begun.inputs_left_measured) {
    between = stream_between(*own, *stream, begun.inputs_left, begun.inputs_left_measured);
    stream = &*between;
  }
  std::optional<model::AllocationStream> spliced;
  if (!forecast.evaluated_with.empty()) {
    const model::AllocationStream* evaluating = find_stream(job_, forecast.evaluated_with);
    if (evaluating == nullptr || between) return std::nullopt;
    spliced = splice_evaluations(as_played(*stream), as_played(*evaluating));
    if (!spliced) return std::nullopt;
    stream = &*spliced;
  }
  Reshaping reshaping = find_reshaping(job_, forecast, begun, *stream);
  reshaping.as_asked = as_asked && !spliced;
  if (reshaping.as_asked && !between) reshaping.asked = &asked_of(*stream);
  reshaping.without_graph = find_stream(job_, "no_grad_validation");
  reshaping.own = own;
  reshaping.offloaded = find_stream(job_, "offload_activations");
  if (begun.measured_with == "autocast")
    reshaping.of_weights = find_weight_copies(between ? *stream : as_played(*stream), *own);
  if (job_.precision.autocast)
    reshaping.of_weights = find_weight_copies(spliced || between ? *stream : as_played(*stream));
  if (!reshaping.knows_all) return std::nullopt;
  Reshaped reshaped{reshape(*stream, reshaping), {}};
  for (const model::StreamTime moment : stream->emptied) reshaped.emptied.push_back(at_event(moment));
  if (forecast.empties_cache) add_emptied(*stream, reshaped.emptied);
  return reshaped;
}

std::optional<std::vector<Life>> StreamPlayer::find_lives(const Forecast& forecast, const Forecast& begun) const {
  auto reshaped = reshape_for(forecast, begun);
  return reshaped ? std::optional(std::move(reshaped->lives)) : std::nullopt;
}

std::optional<Outlook> StreamPlayer::play(const Forecast& forecast, const Forecast& begun) const {
  const auto reshaped = reshape_for(forecast, begun);
  if (!reshaped) return std::nullopt;
  const auto& [lives, emptied] = *reshaped;
  const std::vector<Call> calls = order(lives, emptied);
  const Setting setting{forecast.expandable_segments, std::nullopt};
  const Played free = run(calls, lives.size(), setting);
  const Bytes least = find_least(calls, lives.size(), setting, free);
  Bytes most;
  for (const Bytes allocated : free.allocated) most = std::max(most, allocated);
  Outlook outlook;
  for (std::size_t phase = 0; phase < free.allocated.size(); ++phase) {
    if (free.allocated[phase] == Bytes()) continue;
    outlook.phases.push_back({std::string(model::phase_name(static_cast<std::uint8_t>(phase))),
                              free.allocated[phase] + (least - most) + job_.overhead});
  }
  outlook.needs = least + job_.overhead;
  outlook.allocated = most;
  outlook.least = free.held + job_.overhead;
  outlook.uses = free.reserved + job_.overhead;
  return outlook;
}

std::vector<StreamPlayer::Call> StreamPlayer::order(const std::vector<Life>& lives,
                                                    const std::vector<PlayTime>& emptied) {
  std::vector<Call> calls;
  calls.reserve(2 * lives.size() + emptied.size());
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const auto block = static_cast<std::uint32_t>(i);
    calls.push_back({lives[i].born, block, lives[i].phase, true, lives[i].bytes});
    if (lives[i].died != kNeverFreed) {
      calls.push_back({std::max(lives[i].died, lives[i].born), block, lives[i].phase, false, 0});
    }
  }
  for (const PlayTime moment : emptied) calls.push_back({moment, 0, 0, false, -1});
  // Births come first in one moment: nothing is freed before it is there.
  std::ranges::stable_sort(
      calls, [](const Call& a, const Call& b) { return a.at != b.at ? a.at < b.at : a.is_birth && !b.is_birth; });
  return calls;
}

StreamPlayer::Played StreamPlayer::run(const std::vector<Call>& calls, std::size_t blocks,
                                       const Setting& setting) const {
  const std::uint64_t total = setting.capacity ? static_cast<std::uint64_t>(setting.capacity->count()) : kPlenty;
  allocator::LinuxDevice device(total);
  allocator::Settings settings;
  settings.expandable_segments = setting.expandable_segments;
  allocator::Simulator simulator(device, rules_, settings);
  std::vector<allocator::BlockId> ids(blocks, allocator::kNoBlock);
  std::vector<std::int64_t> sizes(blocks, 0);
  Played played;
  played.allocated.assign(kMostPhases, Bytes());
  std::int64_t allocated = 0;
  const Call* before = nullptr;
  for (const Call& call : calls) {
    const bool is_scratch = before != nullptr && before->is_birth && !call.is_birth && call.block == before->block;
    if (!is_scratch) played.held = std::max(played.held, Bytes(allocated));
    before = &call;
    if (call.is_birth) {
      ids[call.block] = simulator.malloc(static_cast<std::uint64_t>(call.bytes), 0);
      if (ids[call.block] == allocator::kNoBlock) {
        played.fits = false;
        return played;
      }
      sizes[call.block] = call.bytes;
      allocated += call.bytes;
      Bytes& most = played.allocated[call.phase % kMostPhases];
      most = std::max(most, Bytes(allocated));
      played.reserved = std::max(played.reserved, Bytes(static_cast<std::int64_t>(simulator.reserved_bytes())));
    } else if (call.bytes < 0) {
      simulator.empty_cache();
    } else if (ids[call.block] != allocator::kNoBlock) {
      simulator.free(ids[call.block]);
      ids[call.block] = allocator::kNoBlock;
      allocated -= sizes[call.block];
    }
  }
  played.held = std::max(played.held, Bytes(allocated));
  return played;
}

// The least lies between what is allocated at most and what is reserved with plenty.
Bytes StreamPlayer::find_least(const std::vector<Call>& calls, std::size_t blocks, Setting setting,
                               const Played& free) const {
  Bytes fails = *std::ranges::max_element(free.allocated), works = free.reserved;
  while (static_cast<double>((works - fails).count()) > kNear * static_cast<double>(works.count())) {
    const Bytes middle = base::round_up(Bytes((works.count() + fails.count()) / 2), Bytes::mib(2));
    if (middle >= works) break;
    setting.capacity = middle;
    (run(calls, blocks, setting).fits ? works : fails) = middle;
  }
  return works;
}

}  // namespace vramfit::plan
