// What a stand-in may ask of the emulated device: memory, copies and work on streams.
//
// A device address is a host address: memory is mapped lazily, so only bytes that somebody writes cost host memory.
// Streams are those of cudart and of the driver alike: cudaStream_t and CUstream are passed on as `void*`, null and the
// special handles 1 (legacy) and 2 (per thread) included.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_DEVICE_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_DEVICE_H

#include <cstddef>
#include <cstdint>

#include "virtual_gpu/ledger/export.h"
#include "vramfit/hook_functions.h"

namespace vramfit::device {

// cudaMalloc and cudaFree for libraries that take memory of their own (ncclMemAlloc). Null: out of memory.
VF_EXPORT void* allocate(int card, size_t bytes);
VF_EXPORT bool release(void* address);

enum class Place { kUnknown, kPinned, kDevice, kManaged };
struct Range {
  Place place = Place::kUnknown;
  int card = -1;
  uintptr_t begin = 0;
  size_t bytes = 0;
};
// The range that an address lies in. Host memory that CUDA was never told of is kUnknown.
VF_EXPORT Range find_range(const void* address);

// Copies and fills as the device would, under the session's policy for values.
VF_EXPORT void copy(void* to, const void* from, size_t bytes);
VF_EXPORT void fill(void* to, int byte, size_t bytes);

// Work on a stream: takes `duration_ns` of the device's virtual time and counts as one launch. Captured by a graph when
// the stream is being captured.
VF_EXPORT void enqueue(void* stream, int64_t duration_ns);
inline constexpr int64_t kKernelNs = 8000;  // a typical small kernel with its gap, when nothing better is known

}  // namespace vramfit::device

extern "C" {
// How often the host read a few bytes of device memory that no host copy had written: what .item() and nonzero() do.
VF_EXPORT uint64_t vramfit_gpu_device_reads(void);
// The same of any size.
VF_EXPORT uint64_t vramfit_gpu_unknown_reads(void);
// The same of a few bytes whoever wrote them: a kernel may have changed what a host copy began, a count for example.
VF_EXPORT uint64_t vramfit_gpu_small_reads(void);
// How often this thread read a single byte of device memory that no host copy had written: a truth value, which kernels
// that do nothing never worked out. Where all values are kept, a single byte whoever wrote it.
VF_EXPORT uint64_t vramfit_gpu_truth_reads(void);
// The next of these reads of this thread take their answers from here, the lowest bit first.
VF_EXPORT void vramfit_gpu_answer_truths(uint64_t answers);
// From here on what is known of values in device memory is kept, byte by byte (value_states.h): bytes copied from the
// host are known, copies on the device take their state along, new blocks are unknown.
VF_EXPORT void vramfit_gpu_track_values(void);
// The least known state in these bytes, as ValueState.
VF_EXPORT uint32_t vramfit_gpu_value_state(const void* address, size_t bytes);
// Their contents stay; bytes that become unknown read as zeros again.
VF_EXPORT void vramfit_gpu_set_value_state(void* address, size_t bytes, uint32_t state);
// The same for bytes that were just written from the host.
VF_EXPORT void vramfit_gpu_values_written(void* address, size_t bytes, uint32_t state);
// Kernel launches of this process so far.
VF_EXPORT uint64_t vramfit_gpu_launches(void);
}

#endif
