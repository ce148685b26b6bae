// How many bytes of workspace each dense routine asks for. cuSOLVER publishes no sizes; these formulas agree to the
// byte with what cuSOLVER 12.0.4 answered on an H200 to PyTorch's questions in float32 and float64
// (fixtures/real_cards/cusolver_work_areas.csv, fitted and scored by bench/workspaces/run). That complex types follow
// the same formulas with their own size, and other releases and cards the same ones, is assumed, and noted.
#ifndef VRAMFIT_VIRTUAL_GPU_CUSOLVER_WORKSPACE_H
#define VRAMFIT_VIRTUAL_GPU_CUSOLVER_WORKSPACE_H

#include <cstdint>

namespace vramfit::cusolver {

// `size`: bytes of an element of the routine's type.
int64_t cholesky_bytes(int64_t n);
int64_t lu_bytes(int64_t m, int64_t n, int64_t size, int64_t multiprocessors);
int64_t qr_bytes(int64_t n, int64_t size);                                // geqrf; the rows don't matter
int64_t orthogonal_bytes(int64_t m, int64_t n, int64_t k, int64_t size);  // orgqr
int64_t multiply_bytes(int64_t m, int64_t n, int64_t k, int64_t size);    // ormqr from the left
int64_t symmetric_bytes(int64_t n, int64_t batch, int64_t size);          // syevd: the same with and without vectors
int64_t symmetric_jacobi_bytes(int64_t n, int64_t size);                  // syevj
int64_t singular_bytes(int64_t m, int64_t n, int64_t size);               // gesvd
int64_t singular_jacobi_bytes(int64_t m, int64_t n, int64_t size);        // gesvdj: the same with and without vectors
int64_t singular_jacobi_batched_bytes(int64_t size);                      // gesvdjBatched: the batch doesn't matter
int64_t general_bytes(int64_t n, int64_t size);                           // geev

// Sizes that were not measured: after the LAPACK routines that cuSOLVER documents as its models.
int64_t indefinite_bytes(int64_t n, int64_t size);                                // sytrf
int64_t guessed_jacobi_bytes(int64_t m, int64_t n, int64_t batch, int64_t size);  // syevjBatched, gesvda

}  // namespace vramfit::cusolver

#endif
