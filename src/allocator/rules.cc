#include "allocator/rules.h"

#include <array>
#include <charconv>
#include <string>

namespace vramfit::allocator {
namespace {

// Symbols are those of c10/cuda/CUDACachingAllocator.cpp. Releases marked (ran) were found by running both allocators
// on the same programs (tests/allocator); the others are from release notes and pull requests.
constexpr std::array kRules = {
    Rule{"non_split_rounding_setting",
         {2, 6},
         &Rules::has_non_split_rounding_setting,
         "get_free_block: the surplus an oversize block may have is max_non_split_rounding_mb; 20 MiB before (ran: "
         "2.6)"},
    Rule{"newest_pool_first",
         {2, 8},
         &Rules::newest_pool_first,
         "get_pool: of several pools that accept a stream the one begun last is taken, the first one before"},
    Rule{"pool_options", {2, 8}, &Rules::has_pool_options, "MemPool: use_on_oom and no_split"},
    Rule{"oversize_release_skips_expandable",
         {2, 8},
         &Rules::oversize_release_skips_expandable,
         "release_available_cached_blocks: blocks of expandable segments are passed over; an assertion failed before"},
    Rule{"splits_from_twenty",
         {2, 10},
         &Rules::splits_from_twenty,
         "parseMaxSplitSize: max_split_size_mb:20 is allowed; 21 was the least before (ran: 2.9 and 2.11)"},
    Rule{"fills_above_last_key",
         {2, 10},
         &Rules::fills_above_last_key,
         "parseRoundUpPower2Divisions: '>' is for the sizes above the last key; it overwrote that key's too before "
         "(ran: 2.9 and 2.11)"},
    Rule{"limit_only_below_one",
         {2, 10},
         &Rules::limit_only_below_one,
         "setMemoryFraction: a fraction of 1 sets no limit; any fraction did before (ran: 2.6 and 2.12)"},
    Rule{"large_segment_setting",
         {2, 10},
         &Rules::has_large_segment_setting,
         "get_allocation_size: requests below 10 MiB share segments of large_segment_size_mb; 20 MiB before"},
    Rule{"collects_no_expandable",
         {2, 10},
         &Rules::collects_no_expandable,
         "garbage_collect_cached_blocks: blocks of expandable segments are passed over"},
    Rule{"fraction_setting", {2, 10}, &Rules::has_fraction_setting, "per_process_memory_fraction in the settings"},
    Rule{
        "breaks_ties_by_age",
        {2, 12},
        &Rules::breaks_ties_by_age,
        "BlockComparatorSize: of free blocks of one size the one whose Block object is the oldest comes first; the one "
        "with the lowest address before (ran: 2.11 and 2.12)"},
    Rule{"oom_rejection",
         {2, 12},
         &Rules::has_oom_rejection,
         "malloc: with throw_on_cudamalloc_oom, what would pass the fraction is refused before anything is released"},
    Rule{"pool_in_use_may_release",
         {2, 13},
         &Rules::pool_in_use_may_release,
         "malloc: the last release is skipped while a graph is captured, no longer while a MemPool is in use"},
    Rule{"breaks_ties_by_segment_age",
         {2, 13},
         &Rules::breaks_ties_by_segment_age,
         "BlockComparatorSize: of free blocks of one size that of the oldest segment comes first, and within a segment "
         "the "
         "one with the lowest address (ran: 2.12 and 2.13)"},
};

}  // namespace

base::Result<TorchVersion> parse_torch_version(std::string_view text) {
  TorchVersion version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec == std::errc{} && major.ptr != end && *major.ptr == '.') {
    const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
    if (minor.ec == std::errc{} && version.major >= 1 && version.minor >= 0) return version;
  }
  return base::fail(base::ErrorCode::kUsage, "not a version of PyTorch: " + std::string(text), {},
                    "write it as 2.6 or 2.12.1");
}

std::span<const Rule> known_rules() { return kRules; }

Rules rules_of(TorchVersion version) {
  Rules rules;
  rules.version = version;
  for (const Rule& rule : kRules) rules.*rule.on = version >= rule.torch_from;
  return rules;
}

}  // namespace vramfit::allocator
