// Marks a function that a stand-in exports under the NVIDIA library's own name, and the types many libraries share.
#ifndef VRAMFIT_VIRTUAL_GPU_LIBRARY_ABI_H
#define VRAMFIT_VIRTUAL_GPU_LIBRARY_ABI_H

#include <cstddef>
#include <cstdint>

#include "virtual_gpu/ledger/export.h"

#define VF_ABI extern "C" VF_EXPORT

namespace vramfit::library {

using Stream = void*;  // cudaStream_t

// Answers a question about one datum through an out-parameter that the caller may leave null.
template <typename T, typename V>
void answer(T* out, V value) {
  if (out != nullptr) *out = static_cast<T>(value);
}

}  // namespace vramfit::library

#endif
