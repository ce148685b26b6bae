#include "virtual_gpu/cufft/work_area.h"

#include <algorithm>
#include <cstddef>

namespace vramfit::cufft {
namespace {

constexpr int64_t kOneKernel =
    16384;  // longest transform that needs no area: 65536 needs one, what is between is unknown
constexpr int64_t kConvolvedInKernel = 4096;  // Bluestein's convolution for 1009 fits a kernel, that for 4099 does not
constexpr int64_t kLargestPrimeFactor = 127;

constexpr int64_t up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

int64_t largest_prime_factor(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p) {
    while (n % p == 0) {
      largest = p;
      n /= p;
    }
  }
  return std::max(largest, n);
}

// Bluestein turns a length n into a convolution of the next length of at least 2 n - 1 without a prime factor above 5.
int64_t convolved_length(int64_t n) {
  int64_t length = 2 * n - 1;
  while (largest_prime_factor(length) > 5) ++length;
  return length;
}

bool has_large_prime(int64_t n) { return largest_prime_factor(n) > kLargestPrimeFactor; }

// One dimension of a large prime factor. Real signals go in pairs, each pair one complex signal.
int64_t bluestein_bytes(int64_t n, int64_t batch, int64_t complex_bytes, bool is_real) {
  const int64_t align = 256 * complex_bytes;
  if (!is_real) {
    return n > kConvolvedInKernel ? up(2 * batch * convolved_length(n) * complex_bytes, align) : 0;
  }
  const int64_t pairs = (batch + 1) / 2;
  const int64_t packed = pairs * n * complex_bytes;
  if (n <= kConvolvedInKernel) return packed + up(packed, align / 2);
  return packed + up(pairs * (2 * convolved_length(n) + 1) * complex_bytes, align);
}

int64_t one_dimension_bytes(int64_t n, int64_t batch, int64_t complex_bytes, bool is_real) {
  if (has_large_prime(n)) return bluestein_bytes(n, batch, complex_bytes, is_real);
  if (n > kOneKernel) return batch * (is_real ? n / 2 + 1 : n) * complex_bytes;
  // A real signal of an even length is a complex one of half of it. 1000 needed none on the card, 500 and 2000 did.
  const bool is_power_of_two = (n & (n - 1)) == 0;
  return is_real && n > 256 && n % 2 == 0 && !is_power_of_two ? batch * (n / 2) * complex_bytes : 0;
}

}  // namespace

int64_t work_bytes(const std::vector<int64_t>& lengths, int64_t batch, int64_t complex_bytes, bool is_real) {
  if (lengths.empty()) return 0;
  if (lengths.size() == 1) return one_dimension_bytes(lengths.front(), batch, complex_bytes, is_real);
  // None was asked for up to 1000 * 1000 and 17 * 64 * 128; what lies beyond one kernel is assumed to need a copy.
  int64_t elements = batch;
  bool needs_copy = false;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    int64_t length = lengths[i];
    if (length > kConvolvedInKernel && has_large_prime(length)) length = 2 * convolved_length(length);
    needs_copy = needs_copy || length != lengths[i] || length > kOneKernel;
    elements *= is_real && i + 1 == lengths.size() ? length / 2 + 1 : length;
  }
  return needs_copy ? elements * complex_bytes : 0;
}

}  // namespace vramfit::cufft
