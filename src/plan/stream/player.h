// What a plan needs, by playing the job's own stream of allocations, as the plan would have it, through the simulator
// of PyTorch's allocator: cache, fragmentation and all.
#ifndef VRAMFIT_PLAN_STREAM_PLAYER_H
#define VRAMFIT_PLAN_STREAM_PLAYER_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "allocator/rules.h"
#include "model/job.h"
#include "plan/forecast.h"
#include "plan/stream/reshape.h"

namespace vramfit::plan {

// How far a played forecast may be off, as a share of the peak: half-width.
inline constexpr double kPlayedUncertainty = 0.03;

class StreamPlayer {
 public:
  // `job` outlives it.
  explicit StreamPlayer(const model::Job& job);

  // Played as it was recorded, the job's stream reserves what was recorded, to within 2 %. Where it does not (blocks of
  // other streams, graphs, pools, settings of the script's own), nothing is said of plans.
  bool is_sound() const { return is_sound_; }
  Bytes as_recorded() const { return as_recorded_; }  // reserved at most, when played so

  // `begun` says what the run that is played already has: nothing for the job as it is, or the technique that was given
  // a run of its own (Forecast::measured_with). No outlook where the job's stream is not sound, or does not show the
  // modules that are run again.
  std::optional<Outlook> play(const Forecast& forecast, const Forecast& begun) const;
  // The lives that it plays: to be compared with what a run did.
  std::optional<std::vector<Life>> find_lives(const Forecast& forecast, const Forecast& begun) const;

 private:
  struct Call;
  struct Reshaped;
  struct Played {
    bool fits = true;
    Bytes reserved;                // at most
    Bytes held;                    // at most, by what outlives the next call
    std::vector<Bytes> allocated;  // at most, by phase
  };
  struct Setting {
    bool expandable_segments = false;
    std::optional<Bytes> capacity;
  };
  std::optional<Reshaped> reshape_for(const Forecast& forecast, const Forecast& begun) const;
  static std::vector<Call> order(const std::vector<Life>& lives, const std::vector<PlayTime>& emptied);
  Played run(const std::vector<Call>& calls, std::size_t blocks, const Setting& setting) const;
  Bytes find_least(const std::vector<Call>& calls, std::size_t blocks, Setting setting, const Played& free) const;

  const std::vector<std::int64_t>& asked_of(const model::AllocationStream& stream) const;
  bool is_asked(const model::AllocationStream& stream) const;  // it is sound with blocks of what was asked for
  model::AllocationStream as_played(const model::AllocationStream& stream) const;  // its blocks of what was asked for

  const model::Job& job_;
  mutable std::map<const model::AllocationStream*, std::vector<std::int64_t>> asked_;  // of the job's own streams
  mutable std::map<const model::AllocationStream*, bool> is_asked_;                    // of the job's other runs
  allocator::Rules rules_;
  bool is_sound_ = false;
  bool as_asked_ = true;  // it is sound with blocks of what was asked for
  Bytes as_recorded_;
};

}  // namespace vramfit::plan

#endif
