// Which device memory a launch touches, as far as the kernel's name and arguments tell. Nothing here runs a kernel: the
// answer feeds the time model, and where it is not known, nothing is said.
//
//   vectorized_elementwise_kernel<4, F, array<char*, 3>>(int n, F, array<char*, 3>)   n elements of three tensors
//   multi_tensor_apply_kernel(TensorListMetadata<4>, ...)                             the elements its blocks are given
//   any other (float*, float const*, int)                                             each pointer's whole block
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_KERNEL_ARGUMENTS_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_KERNEL_ARGUMENTS_H

#include <array>
#include <cstdint>
#include <string_view>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

// The kernels whose arguments are understood, by their names in PyTorch (aten/src/ATen/native/cuda).
enum class KernelShape { kUnknown, kElementwise, kStrided, kMultiTensor, kReduction, kPointers, kAttention };

struct KernelForm {
  KernelShape shape = KernelShape::kUnknown;
  unsigned tensors = 0;          // of kElementwise and kMultiTensor
  unsigned parameters = 0;       // of kPointers
  uint64_t numbers = 0;          // a bit for each of those that is a plain number and can't be an address
  unsigned element_bytes = 4;    // of the first type that its name has
  bool goes_one_by_one = false;  // its threads load and store single elements, not vectors of them
  bool picks_rows = false;       // gathers: of the largest tensor it reads only what it writes
  unsigned most_per_thread = 0;  // elements of one tensor, of kernels that are given a part of a batch; 0: of all of it
  unsigned list_bytes = 0;       // of kMultiTensor: for each tensor, beside its addresses and its size
  unsigned products = 0;         // of kAttention: two forward, five backward
  bool causal = false;
  bool convolves = false;  // a convolution that PyTorch computes itself, in forward
  bool operator==(const KernelForm&) const = default;
};
// `name` as the compiler demangles it.
VF_EXPORT KernelForm form_of(std::string_view name);

struct Touched {
  std::array<uint64_t, 16> pointers{};
  unsigned count = 0;
  int64_t most_each = 0;  // bytes of a pointer's block at most; 0: all of it
  int64_t bytes = 0;      // beside the pointers
  bool picks_rows = false;
  unsigned one_by_one_bytes = 0;  // of an element, where threads load and store single ones; 0: where they don't
  // For kAttention, the products of so many matrices.
  int64_t multiply_adds = 0, rows = 0, columns = 0, batch = 0;
};
VF_EXPORT Touched touched_by(const KernelForm& form, void* const* arguments, unsigned blocks, unsigned threads = 1024);

}  // namespace vramfit::device

#endif
