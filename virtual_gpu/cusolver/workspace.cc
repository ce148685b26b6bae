#include "virtual_gpu/cusolver/workspace.h"

#include <algorithm>
#include <bit>

namespace vramfit::cusolver {
namespace {

constexpr int64_t kAlign = 32;         // elements to which each array of a workspace is rounded
constexpr int64_t kHeaderBytes = 128;  // of the 64-bit interface

constexpr int64_t up(int64_t value, int64_t step = kAlign) { return (value + step - 1) / step * step; }
constexpr int64_t tiles(int64_t n) { return (n + 31) / 32; }

// Blocks of 512 columns, and what they update.
int64_t qr_elements(int64_t n) { return 512 * 1024 + 1024 * std::max<int64_t>(n, 256); }

// Blocks of 128 columns.
int64_t orthogonal_elements(int64_t m, int64_t n, int64_t k) {
  const int64_t b = std::min<int64_t>(k, 128);
  return std::max(32768 + up(m * b), 16384 + up(b * m) + up(2 * b * n)) + 256;
}

// Blocks of 256 columns: 256^2 and as much for each row of Q and both sides of the product.
int64_t multiply_elements(int64_t m, int64_t n, int64_t k) {
  return 65536 + 256 + 256 * (m + 2 * n) + up(k * (m + n)) + (k > 32 ? up(n) : 0);
}

int64_t singular_jacobi_elements(int64_t m, int64_t n) {
  if (m == n && n <= 32) return 992;
  if (m == n) {
    const int64_t t = tiles(n);
    return 1024 + 2048 * t + up(2 * n * n) + up(n + t + 4 * t * t);
  }
  if (m < n) return up(m * n) + singular_jacobi_elements(n, m);
  return up(n) + std::max(qr_elements(n) + kAlign, multiply_elements(m, n, n));
}

}  // namespace

int64_t cholesky_bytes(int64_t n) { return 128 + up(4 * tiles(n) * tiles(n)); }

// Counters of tiles, in bytes whatever the type. From 2048 on it is another algorithm, with 64 elements for each
// multiprocessor: seen at 2048 alone, not at 1500. PyTorch asks for square matrices only, so oblong ones are assumed.
int64_t lu_bytes(int64_t m, int64_t n, int64_t size, int64_t multiprocessors) {
  const int64_t t = tiles(std::max(m, n));
  const int64_t columns = 256 * (t + 1);
  if (std::max(m, n) >= 2048) return columns + 32 * t + 64 * multiprocessors * size;
  const auto panels = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(t)));
  return columns + std::max(256 * std::min<int64_t>(panels, 16), up(4 * t * t));
}

int64_t qr_bytes(int64_t n, int64_t size) { return size * qr_elements(n) + kHeaderBytes; }

int64_t orthogonal_bytes(int64_t m, int64_t n, int64_t k, int64_t size) { return size * orthogonal_elements(m, n, k); }

int64_t multiply_bytes(int64_t m, int64_t n, int64_t k, int64_t size) { return size * multiply_elements(m, n, k); }

// The matrix and two vectors, and either a product with Q of n - 1 columns or, for large ones, divide and conquer. A
// batch takes as much for each, its arrays rounded together.
int64_t symmetric_bytes(int64_t n, int64_t batch, int64_t size) {
  const int64_t before = std::max<int64_t>(n - 1, 0);
  const int64_t product =
      batch * (65536 + 768 * n) + 32 + up(batch * before * (2 * n - 1)) + (n > 32 ? up(batch * n) : 0);
  const int64_t divided = batch * (32768 + 128 * n) + 192 + up(3 * batch * n * before);
  return kHeaderBytes + size * (batch * (n * n + 2 * n + 3) + std::max(product, divided));
}

int64_t symmetric_jacobi_bytes(int64_t n, int64_t size) {
  const int64_t t = tiles(n);
  return size * (n * n + n + 1024 * (t + 1) + t + 4 * t * t);
}

// Square: singular values of a bidiagonal matrix, whose Q is multiplied in blocks. Otherwise a QR before it, whose Q is
// made whole, square of the longer side.
int64_t singular_bytes(int64_t m, int64_t n, int64_t size) {
  if (m < n) std::swap(m, n);
  if (m == n) {
    const int64_t product = 65536 + 256 + 256 * n + up(2 * n * n) + (n > 32 ? up(n) : 0);
    return size * (product + up(n * n) + 3 * up(n));
  }
  return size * (qr_elements(n) + kAlign + orthogonal_elements(m, m, n) + up(m * n) + 2 * up(n * n) + up(n));
}

int64_t singular_jacobi_bytes(int64_t m, int64_t n, int64_t size) { return size * singular_jacobi_elements(m, n); }

int64_t singular_jacobi_batched_bytes(int64_t size) { return size * singular_jacobi_elements(1, 1); }

int64_t general_bytes(int64_t n, int64_t size) {
  const int64_t before = std::max<int64_t>(n - 1, 0);
  return up(size * (std::max(n * n, orthogonal_elements(before, before, before)) + 4 * n + kAlign), 512);
}

// Two panels of 32 columns.
int64_t indefinite_bytes(int64_t n, int64_t size) { return size * std::max<int64_t>(1, n * 64); }

// The rotated copy of the matrix, for each matrix of the batch.
int64_t guessed_jacobi_bytes(int64_t m, int64_t n, int64_t batch, int64_t size) {
  const int64_t k = std::min(m, n);
  return size * std::max<int64_t>(1, batch * (2 * m * n + 2 * k * k + 6 * k));
}

}  // namespace vramfit::cusolver
