// One piece of device work: what a stream is given and what a graph keeps as a node.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_WORK_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_WORK_H

#include <cstddef>
#include <cstdint>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

// The numbers are cudaGraphNodeType's and CUgraphNodeType's.
enum class WorkKind : int {
  kKernel = 0,
  kCopy = 1,
  kFill = 2,
  kHostCall = 3,
  kGraph = 4,
  kEmpty = 5,
  kWaitEvent = 6,
  kRecordEvent = 7,
  kAllocate = 10,
  kRelease = 11
};

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

struct Work {
  WorkKind kind = WorkKind::kKernel;
  int64_t duration_ns = 0;
  // kKernel
  const void* function = nullptr;
  Dim grid, block;
  unsigned shared_bytes = 0;
  // kCopy and kFill: `rows` rows of `bytes`
  void* to = nullptr;
  const void* from = nullptr;
  size_t bytes = 0;
  size_t rows = 1;
  size_t to_pitch = 0, from_pitch = 0;
  unsigned fill_value = 0;
  unsigned fill_element_bytes = 1;  // 1, 2 or 4
  // kHostCall
  void (*host_call)(void*) = nullptr;
  void* argument = nullptr;
};

// Does what the work does to memory and to the host; kernels do nothing.
VF_EXPORT void perform(const Work& work);
// Virtual time of a copy: 12 GB/s over PCIe 3 x16, the card's own bandwidth within it.
VF_EXPORT int64_t copy_duration_ns(const void* to, const void* from, size_t bytes);

}  // namespace vramfit::device

#endif
