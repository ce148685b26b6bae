// torch.cuda.memory_stats(), kept as cheaply as possible: the allocator's hot path is mostly these counters.
#ifndef VRAMFIT_ALLOCATOR_STATISTICS_H
#define VRAMFIT_ALLOCATOR_STATISTICS_H

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace vramfit::allocator {

// One of memory_stats()'s quadruples.
struct Stat {
  std::int64_t current = 0;
  std::int64_t peak = 0;
  std::int64_t allocated = 0;  // the sum of all increases
  std::int64_t freed = 0;      // the sum of all decreases
  friend bool operator==(const Stat&, const Stat&) = default;
};

enum class StatKind : std::uint8_t {
  kAllocation,
  kSegment,
  kActive,
  kInactiveSplit,
  kAllocatedBytes,
  kReservedBytes,
  kActiveBytes,
  kInactiveSplitBytes,
  kRequestedBytes,
};
inline constexpr std::size_t kStatKinds = 9;

enum class PoolKind : std::uint8_t { kSmall, kLarge };

class Statistics {
 public:
  void increase(StatKind kind, PoolKind pool, std::int64_t amount) {
    Pair& pair = pairs_[static_cast<std::size_t>(kind)];
    const auto side = static_cast<std::size_t>(pool);
    pair.current[side] += amount;
    pair.allocated[side] += amount;
    pair.peak[side] = std::max(pair.peak[side], pair.current[side]);
    pair.peak_of_both = std::max(pair.peak_of_both, pair.current[0] + pair.current[1]);
  }
  void decrease(StatKind kind, PoolKind pool, std::int64_t amount) {
    pairs_[static_cast<std::size_t>(kind)].current[static_cast<std::size_t>(pool)] -= amount;
  }
  // Either of the two. A decrease does not reach a peak, so that nothing need ask which it is.
  void change(StatKind kind, PoolKind pool, std::int64_t amount) {
    Pair& pair = pairs_[static_cast<std::size_t>(kind)];
    const auto side = static_cast<std::size_t>(pool);
    pair.current[side] += amount;
    pair.allocated[side] += std::max<std::int64_t>(amount, 0);
    pair.peak[side] = std::max(pair.peak[side], pair.current[side]);
    pair.peak_of_both = std::max(pair.peak_of_both, pair.current[0] + pair.current[1]);
  }

  Stat of(StatKind kind, PoolKind pool) const;
  Stat of_both(StatKind kind) const;
  std::int64_t current(StatKind kind) const {
    const Pair& pair = pairs_[static_cast<std::size_t>(kind)];
    return pair.current[0] + pair.current[1];
  }

  void reset_peaks();
  void reset_accumulated();

  // Names and values as memory_stats() gives them, sorted by name: "active.all.current" and so on.
  std::vector<std::pair<std::string, std::int64_t>> by_name() const;

  Stat oversize_allocations;
  Stat oversize_segments;
  std::int64_t retries = 0;             // num_alloc_retries
  std::int64_t ooms = 0;                // num_ooms
  std::int64_t syncs = 0;               // num_sync_all_streams
  std::int64_t device_allocations = 0;  // num_device_alloc: cudaMalloc, or mapping of pages
  std::int64_t device_frees = 0;        // num_device_free
  std::int64_t oom_rejections = 0;      // num_oom_rejections, 2.12
  std::int64_t max_split_bytes = -1;    // as memory_stats() has it: -1 is unlimited

 private:
  // `freed` is not kept: it is what was allocated less what is there, counted from the last reset.
  struct Pair {
    std::array<std::int64_t, 2> current{};
    std::array<std::int64_t, 2> peak{};
    std::array<std::int64_t, 2> allocated{};
    std::array<std::int64_t, 2> at_reset{};
    std::int64_t peak_of_both = 0;
  };
  std::array<Pair, kStatKinds> pairs_{};
};

inline void increase(Stat& stat, std::int64_t amount) {
  stat.current += amount;
  stat.allocated += amount;
  stat.peak = std::max(stat.peak, stat.current);
}
inline void decrease(Stat& stat, std::int64_t amount) {
  stat.current -= amount;
  stat.freed += amount;
}

}  // namespace vramfit::allocator

#endif
