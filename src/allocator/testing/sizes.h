// Sizes as the tests of the simulator write them.
#ifndef VRAMFIT_ALLOCATOR_TESTING_SIZES_H
#define VRAMFIT_ALLOCATOR_TESTING_SIZES_H

#include <cstdint>

namespace vramfit::allocator {

inline constexpr std::uint64_t kKib = 1 << 10, kMib = 1 << 20, kGib = 1 << 30;

}  // namespace vramfit::allocator

#endif
