// How much workspace each dense routine asks for. cuSOLVER's own sizes are not published; these follow the blocked
// LAPACK algorithms that it documents as its models, with the block width it is known to use, and are noted as assumed.
// Sizes are elements of the routine's type.
#ifndef VRAMFIT_VIRTUAL_GPU_CUSOLVER_WORKSPACE_H
#define VRAMFIT_VIRTUAL_GPU_CUSOLVER_WORKSPACE_H

#include <algorithm>
#include <cstdint>

namespace vramfit::cusolver {

inline constexpr int64_t kBlock = 32;  // columns of a panel

// Cholesky: one panel for the triangular solve.
constexpr int64_t cholesky_elements(int64_t n) { return std::max<int64_t>(1, n * kBlock); }
// LU: one panel, and the row interchanges of the trailing matrix.
constexpr int64_t lu_elements(int64_t m, int64_t n) { return std::max<int64_t>(1, std::max(m, n) * kBlock * 2); }
// LDL': two panels.
constexpr int64_t ldl_elements(int64_t n) { return std::max<int64_t>(1, n * kBlock * 2); }
// QR and products with Q: the triangular factor of a panel and its product with the trailing matrix.
constexpr int64_t qr_elements(int64_t m, int64_t n) {
  return std::max<int64_t>(1, kBlock * kBlock + std::max(m, n) * kBlock);
}
// Divide and conquer (LAPACK syevd): 1 + 6 n + 2 n^2 with vectors, 2 n + 1 without.
constexpr int64_t syevd_elements(int64_t n, bool vectors) { return vectors ? 1 + 6 * n + 2 * n * n : 2 * n + 1; }
// Jacobi: the rotated copy of the matrix, for each matrix of the batch.
constexpr int64_t jacobi_elements(int64_t m, int64_t n, int64_t batch) {
  const int64_t k = std::min(m, n);
  return std::max<int64_t>(1, batch * (2 * m * n + 2 * k * k + 6 * k));
}
// Singular values by QR iteration (LAPACK gesvd): 5 min + max, with the blocked bidiagonalisation.
constexpr int64_t gesvd_elements(int64_t m, int64_t n) {
  const int64_t k = std::min(m, n);
  return std::max<int64_t>(1, 3 * k + std::max(std::max(m, n), 5 * k) + (m + n) * kBlock);
}
// General eigenvalues (LAPACK geev): 4 n, a Hessenberg copy and the blocked reduction.
constexpr int64_t geev_elements(int64_t n) { return std::max<int64_t>(1, 4 * n + n * n + n * kBlock); }

}  // namespace vramfit::cusolver

#endif
