#include "virtual_gpu/cufft/work_area.h"

#include <bit>
#include <cstddef>

namespace vramfit::cufft {
namespace {

constexpr int64_t kOneKernel = 4096;  // longest one-dimensional transform that fits a block's shared memory
constexpr int64_t kLargestPrimeFactor = 127;

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    while (n % p == 0) {
      largest = p;
      n /= p;
    }
  }
  return n > 1 ? n : largest;
}

// Bluestein turns a length n into a convolution of a power of two of at least 2 n - 1.
int64_t transformed_length(int64_t n) {
  if (largest_prime_factor(n) <= kLargestPrimeFactor) return n;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
}

}  // namespace

int64_t work_bytes(const std::vector<int64_t>& lengths, int64_t batch, int64_t complex_bytes, bool is_real) {
  if (lengths.empty()) return 0;
  int64_t elements = batch;
  bool fits_one_kernel = lengths.size() == 1 && lengths.front() <= kOneKernel;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const int64_t length = transformed_length(lengths[i]);
    if (length != lengths[i]) fits_one_kernel = false;
    elements *= is_real && i + 1 == lengths.size() ? length / 2 + 1 : length;
  }
  return fits_one_kernel ? 0 : elements * complex_bytes;
}

}  // namespace vramfit::cufft
