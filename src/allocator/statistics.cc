#include "allocator/statistics.h"

#include <string_view>

namespace vramfit::allocator {
namespace {

constexpr std::array<std::string_view, kStatKinds> kNames = {
    "allocation",      "segment",        "active",       "inactive_split",
    "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes",
    "requested_bytes"};

using Named = std::vector<std::pair<std::string, std::int64_t>>;

void add(Named& named, const std::string& name, const Stat& stat) {
  named.emplace_back(name + ".allocated", stat.allocated);
  named.emplace_back(name + ".current", stat.current);
  named.emplace_back(name + ".freed", stat.freed);
  named.emplace_back(name + ".peak", stat.peak);
}

}  // namespace

Stat Statistics::of(StatKind kind, PoolKind pool) const {
  const Pair& pair = pairs_[static_cast<std::size_t>(kind)];
  const auto side = static_cast<std::size_t>(pool);
  return {pair.current[side], pair.peak[side], pair.allocated[side],
          pair.at_reset[side] + pair.allocated[side] - pair.current[side]};
}

Stat Statistics::of_both(StatKind kind) const {
  const Stat small = of(kind, PoolKind::kSmall), large = of(kind, PoolKind::kLarge);
  return {small.current + large.current, pairs_[static_cast<std::size_t>(kind)].peak_of_both,
          small.allocated + large.allocated, small.freed + large.freed};
}

void Statistics::reset_peaks() {
  for (Pair& pair : pairs_) {
    pair.peak = pair.current;
    pair.peak_of_both = pair.current[0] + pair.current[1];
  }
  oversize_allocations.peak = oversize_allocations.current;
  oversize_segments.peak = oversize_segments.current;
}

void Statistics::reset_accumulated() {
  for (Pair& pair : pairs_) {
    pair.allocated = {};
    pair.at_reset = pair.current;
  }
  oversize_allocations.allocated = oversize_allocations.freed = 0;
  oversize_segments.allocated = oversize_segments.freed = 0;
  retries = ooms = syncs = device_allocations = device_frees = oom_rejections = 0;
}

Named Statistics::by_name() const {
  Named named;
  for (std::size_t i = 0; i < kStatKinds; ++i) {
    const auto kind = static_cast<StatKind>(i);
    const std::string name(kNames[i]);
    add(named, name + ".all", of_both(kind));
    add(named, name + ".large_pool", of(kind, PoolKind::kLarge));
    add(named, name + ".small_pool", of(kind, PoolKind::kSmall));
  }
  add(named, "oversize_allocations", oversize_allocations);
  add(named, "oversize_segments", oversize_segments);
  named.emplace_back("max_split_size", max_split_bytes);
  named.emplace_back("num_alloc_retries", retries);
  named.emplace_back("num_device_alloc", device_allocations);
  named.emplace_back("num_device_free", device_frees);
  named.emplace_back("num_oom_rejections", oom_rejections);
  named.emplace_back("num_ooms", ooms);
  named.emplace_back("num_sync_all_streams", syncs);
  std::sort(named.begin(), named.end());
  return named;
}

}  // namespace vramfit::allocator
