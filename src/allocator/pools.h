// How the simulator names its two pools, and counts in what a snapshot holds.
#ifndef VRAMFIT_ALLOCATOR_POOLS_H
#define VRAMFIT_ALLOCATOR_POOLS_H

#include <cstdint>

namespace vramfit::allocator {

inline constexpr std::uint32_t kSmallPool = 0;
inline constexpr std::uint32_t kLargePool = 1;

inline std::int64_t counted(std::uint64_t bytes) { return static_cast<std::int64_t>(bytes); }

}  // namespace vramfit::allocator

#endif
