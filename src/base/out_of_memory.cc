#include "base/out_of_memory.h"

#include <algorithm>
#include <array>

#include "base/letters.h"

namespace vramfit::base {

namespace {

// The words in lower case.
constexpr auto kWords = std::to_array<std::string_view>({
    "out of memory",     // "CUDA out of memory.", "CUDA error: out of memory", NCCL's "Cuda failure 'out of memory'"
    "out-of-memory",     // in prose
    "out_of_memory",     // CUDA_ERROR_OUT_OF_MEMORY
    "outofmemory",       // torch.OutOfMemoryError, hipErrorOutOfMemory
    "memoryallocation",  // cudaErrorMemoryAllocation
    "alloc_failed",      // CUBLAS_STATUS_ALLOC_FAILED, CUDNN_STATUS_ALLOC_FAILED, CUFFT_ALLOC_FAILED
});

}  // namespace

bool says_out_of_memory(std::string_view message) {
  return std::ranges::any_of(
      kWords, [&](std::string_view words) { return !std::ranges::search(message, words, {}, lower).empty(); });
}

}  // namespace vramfit::base
