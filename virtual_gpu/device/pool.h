// cudaMallocAsync: pools that keep what they got from the card and hand it out again.
//
//   reserved  |---- 32 MiB ----|---- 32 MiB ----|--------- 96 MiB ---------|
//   used        ##   ######       #################    ####
//
// The real pool grows in 32 MiB steps and keeps, at each synchronisation, at most its release threshold.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_POOL_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_POOL_H

#include <cstddef>
#include <cstdint>

#include "virtual_gpu/device/error.h"
#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

struct Pool;  // cudaMemPool_t and CUmemoryPool point to one

// The numbers are cudaMemPoolAttr's and CUmemPool_attribute's.
enum class PoolAttribute : int {
  kReuseFollowEventDependencies = 1,
  kReuseAllowOpportunistic = 2,
  kReuseAllowInternalDependencies = 3,
  kReleaseThreshold = 4,
  kReservedBytes = 5,
  kReservedBytesHigh = 6,
  kUsedBytes = 7,
  kUsedBytesHigh = 8
};
constexpr bool is_flag(PoolAttribute attribute) {
  return static_cast<int>(attribute) >= 1 && static_cast<int>(attribute) <= 3;  // int, the others are uint64_t
}

VF_EXPORT Pool* default_pool(int card);  // null: no such card
VF_EXPORT Pool* current_pool(int card);
VF_EXPORT Error set_current_pool(int card, Pool* pool);
// `max_bytes` 0: no limit of its own.
VF_EXPORT Error create_pool(int card, size_t max_bytes, Pool** pool);
VF_EXPORT Error destroy_pool(Pool* pool);

VF_EXPORT Error allocate_from(Pool* pool, size_t bytes, void** address);
VF_EXPORT Error release_to_pool(void* address);
// Gives free memory back until at most `keep_bytes` stay reserved.
VF_EXPORT Error trim(Pool* pool, size_t keep_bytes);
// What a synchronisation does to every pool of a card.
VF_EXPORT void trim_to_thresholds(int card);

VF_EXPORT Error get_attribute(Pool* pool, PoolAttribute attribute, uint64_t* value);
VF_EXPORT Error set_attribute(Pool* pool, PoolAttribute attribute, uint64_t value);
VF_EXPORT bool is_pool(const Pool* pool);  // of any card

}  // namespace vramfit::device

#endif
