// What PyTorch's native caching allocator does differently from one release to the next, as data. Everything that is
// the same in 2.1 and later is in simulator.cc itself.
#ifndef VRAMFIT_ALLOCATOR_RULES_H
#define VRAMFIT_ALLOCATOR_RULES_H

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "model/allocator_sizes.h"

namespace vramfit::allocator {

// c10/core/AllocatorConfig.h; the same values since 1.x.
inline constexpr std::uint64_t kMinBlockBytes = model::kBlockUnit;
inline constexpr std::uint64_t kSmallBytes = model::kLeastSplit;  // the largest rounded size of the small pool
inline constexpr std::uint64_t kSmallSegmentBytes = 2 << 20;      // also the page of a small expandable segment
inline constexpr std::uint64_t kLargeSegmentBytes = 20 << 20;  // default; also the page of a large expandable segment
inline constexpr std::uint64_t kMinLargeRequestBytes = 10 << 20;
inline constexpr std::uint64_t kRoundLargeBytes = 2 << 20;
inline constexpr std::uint64_t kUnlimited = UINT64_MAX;

struct TorchVersion {
  int major = 2;
  int minor = 12;
  friend auto operator<=>(const TorchVersion&, const TorchVersion&) = default;
};

// "2.6.0+cu124", "2.12.1", "2.13.0a0+git1234".
base::Result<TorchVersion> parse_torch_version(std::string_view text);

struct Rules {
  TorchVersion version;
  bool limit_only_below_one = false;
  bool newest_pool_first = false;
  bool breaks_ties_by_age = false;
  bool breaks_ties_by_segment_age = false;
  bool collects_no_expandable = false;
  bool oversize_release_skips_expandable = false;
  bool splits_from_twenty = false;
  bool fills_above_last_key = false;
  bool has_pool_options = false;
  bool has_large_segment_setting = false;
  bool has_non_split_rounding_setting = false;
  bool has_fraction_setting = false;
  bool has_oom_rejection = false;
  bool pool_in_use_may_release = false;
};

// One switch of Rules: the release it came with, and where that is to be read.
struct Rule {
  std::string_view name;
  TorchVersion torch_from;
  bool Rules::*on;
  std::string_view meaning;
};

std::span<const Rule> known_rules();
Rules rules_of(TorchVersion version);

}  // namespace vramfit::allocator

#endif
