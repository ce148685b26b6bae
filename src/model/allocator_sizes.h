// Sizes by which PyTorch's caching allocator rounds and splits, for all that reads what it did
// (c10/core/AllocatorConfig.h; the same values since 1.x). The rest of its rules: allocator/rules.h.
#ifndef VRAMFIT_MODEL_ALLOCATOR_SIZES_H
#define VRAMFIT_MODEL_ALLOCATOR_SIZES_H

#include <cstdint>

namespace vramfit::model {

inline constexpr std::int64_t kBlockUnit = 512;       // every block is a multiple of it
inline constexpr std::int64_t kLeastSplit = 1 << 20;  // of a large block no rest up to this is split off

}  // namespace vramfit::model

#endif
