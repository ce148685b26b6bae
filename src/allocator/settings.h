// PYTORCH_CUDA_ALLOC_CONF as values, and the two size rules that depend on nothing else.
#ifndef VRAMFIT_ALLOCATOR_SETTINGS_H
#define VRAMFIT_ALLOCATOR_SETTINGS_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/rules.h"
#include "base/error.h"

namespace vramfit::allocator {

struct Settings {
  bool expandable_segments = false;
  std::uint64_t max_split_bytes = kUnlimited;  // larger blocks are never split
  std::uint64_t max_non_split_rounding_bytes = kLargeSegmentBytes;
  std::uint64_t large_segment_bytes = kLargeSegmentBytes;
  double garbage_collection_threshold = 0;  // of the limit; 0: off
  // Divisions of each power of two, from 1 MiB (also all below) to 64 GiB (also all above); 0 and 1: none.
  std::array<std::uint32_t, 16> roundup_power2_divisions{};
  double memory_fraction = 1;        // of the card's memory
  bool has_memory_fraction = false;  // somebody set one: before 2.10 even 1 is then a limit
  bool throw_on_oom = false;         // throw_on_cudamalloc_oom
  bool is_native = true;             // backend:native

  friend bool operator==(const Settings&, const Settings&) = default;
};

// `text` as PyTorch reads it ("max_split_size_mb:128,expandable_segments:True") on top of `before`. A key or value that
// PyTorch refuses is refused here, and named.
base::Result<Settings> parse_settings(std::string_view text, const Rules& rules, Settings before = {});

// Every key that some release knows, whether or not it has a part in which block is taken.
const std::vector<std::string>& setting_names();

// The canonical text of what differs from the defaults; empty when nothing does.
std::string to_string(const Settings& settings);

// round_size: a multiple of 512 bytes, or of a division of the power of two below.
inline std::uint64_t round_to_blocks(std::uint64_t requested) {
  return requested < kMinBlockBytes ? kMinBlockBytes : (requested + kMinBlockBytes - 1) & ~(kMinBlockBytes - 1);
}
std::uint64_t round_size(std::uint64_t requested, const Settings& settings);

// get_allocation_size: what is asked from the driver for a rounded size.
std::uint64_t segment_bytes_for(std::uint64_t rounded, const Settings& settings);

}  // namespace vramfit::allocator

#endif
