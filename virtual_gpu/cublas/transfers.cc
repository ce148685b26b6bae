// Copies of vectors and matrices between host and device, column by column as documented.
#include "virtual_gpu/cublas/handle.h"

namespace cublas = vramfit::cublas;

namespace {

// `count` pieces of `bytes` each, `from_step` and `to_step` bytes apart.
int copy_pieces(const void* from, size_t from_step, void* to, size_t to_step, size_t bytes, int count) {
  if (from == nullptr || to == nullptr || count < 0) return cublas::kInvalidValue;
  for (int i = 0; i < count; ++i) {
    vramfit::device::copy(static_cast<char*>(to) + to_step * static_cast<size_t>(i),
                          static_cast<const char*>(from) + from_step * static_cast<size_t>(i), bytes);
  }
  return cublas::kSuccess;
}

int copy_matrix(int rows, int columns, int element, const void* from, int from_lead, void* to, int to_lead) {
  if (rows < 0 || element <= 0 || from_lead < rows || to_lead < rows) return cublas::kInvalidValue;
  const auto size = static_cast<size_t>(element);
  return copy_pieces(from, size * static_cast<size_t>(from_lead), to, size * static_cast<size_t>(to_lead),
                     size * static_cast<size_t>(rows), columns);
}

int copy_vector(int n, int element, const void* from, int from_step, void* to, int to_step) {
  if (n < 0 || element <= 0 || from_step <= 0 || to_step <= 0) return cublas::kInvalidValue;
  const auto size = static_cast<size_t>(element);
  if (from_step == 1 && to_step == 1) return copy_pieces(from, 0, to, 0, size * static_cast<size_t>(n), 1);
  return copy_pieces(from, size * static_cast<size_t>(from_step), to, size * static_cast<size_t>(to_step), size, n);
}

}  // namespace

#define VF_CUBLAS_TRANSFER(Way)                                                                                      \
  VF_ABI int cublas##Way##MatrixAsync(int rows, int columns, int element, const void* from, int from_lead, void* to, \
                                      int to_lead, void*) {                                                          \
    return copy_matrix(rows, columns, element, from, from_lead, to, to_lead);                                        \
  }                                                                                                                  \
  VF_ABI int cublas##Way##VectorAsync(int n, int element, const void* from, int from_step, void* to, int to_step,    \
                                      void*) {                                                                       \
    return copy_vector(n, element, from, from_step, to, to_step);                                                    \
  }

VF_CUBLAS_TRANSFER(Set)
VF_CUBLAS_TRANSFER(Get)
