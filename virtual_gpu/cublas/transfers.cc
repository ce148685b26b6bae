// Copies of vectors and matrices between host and device, column by column as documented.
#include "virtual_gpu/cublas/handle.h"

namespace cublas = vramfit::cublas;

namespace {

// `count` pieces of `bytes` each, `from_step` and `to_step` bytes apart.
int copy_pieces(const void* from, size_t from_step, void* to, size_t to_step, size_t bytes, int64_t count) {
  if (from == nullptr || to == nullptr || count < 0) return cublas::kInvalidValue;
  for (int64_t i = 0; i < count; ++i) {
    vramfit::device::copy(static_cast<char*>(to) + to_step * static_cast<size_t>(i),
                          static_cast<const char*>(from) + from_step * static_cast<size_t>(i), bytes);
  }
  return cublas::kSuccess;
}

int copy_matrix(int64_t rows, int64_t columns, int64_t element, const void* from, int64_t from_lead, void* to,
                int64_t to_lead) {
  if (rows < 0 || element <= 0 || from_lead < rows || to_lead < rows) return cublas::kInvalidValue;
  const auto size = static_cast<size_t>(element);
  return copy_pieces(from, size * static_cast<size_t>(from_lead), to, size * static_cast<size_t>(to_lead),
                     size * static_cast<size_t>(rows), columns);
}

int copy_vector(int64_t n, int64_t element, const void* from, int64_t from_step, void* to, int64_t to_step) {
  if (n < 0 || element <= 0 || from_step <= 0 || to_step <= 0) return cublas::kInvalidValue;
  const auto size = static_cast<size_t>(element);
  if (from_step == 1 && to_step == 1) return copy_pieces(from, 0, to, 0, size * static_cast<size_t>(n), 1);
  return copy_pieces(from, size * static_cast<size_t>(from_step), to, size * static_cast<size_t>(to_step), size, n);
}

}  // namespace

// Stream: nothing, or the stream's parameter.
#define VF_CUBLAS_TRANSFER(Way, Suffix, Int, ...)                                                             \
  VF_ABI int cublas##Way##Matrix##Suffix(Int rows, Int columns, Int element, const void* from, Int from_lead, \
                                         void* to, Int to_lead __VA_OPT__(, ) __VA_ARGS__) {                  \
    return copy_matrix(rows, columns, element, from, from_lead, to, to_lead);                                 \
  }                                                                                                           \
  VF_ABI int cublas##Way##Vector##Suffix(Int n, Int element, const void* from, Int from_step, void* to,       \
                                         Int to_step __VA_OPT__(, ) __VA_ARGS__) {                            \
    return copy_vector(n, element, from, from_step, to, to_step);                                             \
  }
#define VF_CUBLAS_TRANSFERS(Way)             \
  VF_CUBLAS_TRANSFER(Way, , int)             \
  VF_CUBLAS_TRANSFER(Way, _64, int64_t)      \
  VF_CUBLAS_TRANSFER(Way, Async, int, void*) \
  VF_CUBLAS_TRANSFER(Way, Async_64, int64_t, void*)

VF_CUBLAS_TRANSFERS(Set)
VF_CUBLAS_TRANSFERS(Get)
