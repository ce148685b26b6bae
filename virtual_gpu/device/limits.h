// What a multiprocessor of a card holds: the card's own figures, or those of its compute capability where it has none.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_LIMITS_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_LIMITS_H

#include <cstddef>

#include "virtual_gpu/ledger/export.h"
#include "vramfit/ledger.h"

namespace vramfit::device {

inline constexpr int kReservedSharedBytes = 1024;  // by the system, per block, from compute capability 8.0 on

struct Limits {
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int registers_per_sm = 65536;
  int shared_bytes_per_sm = 96 * 1024;
  int shared_bytes_per_block_optin = 48 * 1024;
};
VF_EXPORT Limits limits_of(const vf_card& card);

// How many blocks of a kernel with 32 registers a thread run on one multiprocessor at once.
VF_EXPORT int blocks_at_once(const vf_card& card, int block_threads, size_t shared_bytes);

}  // namespace vramfit::device

#endif
