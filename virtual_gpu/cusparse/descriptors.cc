// Handles and descriptors: kept, asked for, destroyed.
#include "virtual_gpu/cusparse/descriptor.h"

using vramfit::cusparse::Dense;
using vramfit::cusparse::Handle;
using vramfit::cusparse::Sparse;
using vramfit::cusparse::Steps;
using vramfit::library::Stream;
namespace cusparse = vramfit::cusparse;
namespace ledger = vramfit::ledger;

namespace {

struct Setting {};  // cusparseMatDescr_t and the info objects hold nothing that memory depends on

template <typename T>
int create(T** out) {
  if (out == nullptr) return cusparse::kInvalidValue;
  *out = new T;
  return cusparse::kSuccess;
}

template <typename T>
int destroy(T* object) {
  delete object;
  return cusparse::kSuccess;
}

int bytes_of_index(int type) { return type == cusparse::kIndex64 ? 8 : type == cusparse::kIndex16 ? 2 : 4; }

}  // namespace

VF_ABI int cusparseCreate(Handle** handle) {
  if (handle == nullptr) return cusparse::kInvalidValue;
  *handle = nullptr;
  if (ledger::state() != ledger::State::kReady) return cusparse::kNotInitialized;
  if (!ledger::charge_use(ledger::current_card(), ledger::Library::kSparse)) return cusparse::kAllocFailed;
  return create(handle);
}

VF_ABI int cusparseDestroy(Handle* handle) { return destroy(handle); }

VF_ABI int cusparseSetStream(Handle* handle, Stream stream) {
  if (handle == nullptr) return cusparse::kNotInitialized;
  handle->stream = stream;
  return cusparse::kSuccess;
}

VF_ABI int cusparseSetPointerMode(Handle* handle, int mode) {
  if (handle == nullptr) return cusparse::kNotInitialized;
  handle->pointer_mode = mode;
  return cusparse::kSuccess;
}

VF_ABI const char* cusparseGetErrorString(int status) {
  switch (status) {
    case cusparse::kSuccess:
      return "success";
    case cusparse::kNotInitialized:
      return "initialization error";
    case cusparse::kAllocFailed:
      return "insufficient resources";
    case cusparse::kInvalidValue:
      return "invalid value";
    case cusparse::kNotSupported:
      return "operation not supported";
    default:
      return "unknown error";
  }
}

VF_ABI int cusparseCreateCsr(Sparse** out, int64_t rows, int64_t columns, int64_t nonzeros, void*, void*, void*,
                             int offset_type, int, int, int value_type) {
  const int status = create(out);
  if (status == cusparse::kSuccess) **out = {rows, columns, nonzeros, value_type, bytes_of_index(offset_type), 1};
  return status;
}

VF_ABI int cusparseCreateCoo(Sparse** out, int64_t rows, int64_t columns, int64_t nonzeros, void*, void*, void*,
                             int index_type, int, int value_type) {
  const int status = create(out);
  if (status == cusparse::kSuccess) **out = {rows, columns, nonzeros, value_type, bytes_of_index(index_type), 1};
  return status;
}

VF_ABI int cusparseDestroySpMat(Sparse* matrix) { return destroy(matrix); }
VF_ABI int cusparseCsrSetPointers(Sparse*, void*, void*, void*) { return cusparse::kSuccess; }
VF_ABI int cusparseSpMatSetAttribute(Sparse*, int, void*, size_t) { return cusparse::kSuccess; }

VF_ABI int cusparseCsrSetStridedBatch(Sparse* matrix, int batches, int64_t, int64_t) {
  if (matrix == nullptr) return cusparse::kInvalidValue;
  matrix->batches = batches;
  return cusparse::kSuccess;
}

VF_ABI int cusparseSpMatGetSize(const Sparse* matrix, int64_t* rows, int64_t* columns, int64_t* nonzeros) {
  if (matrix == nullptr) return cusparse::kInvalidValue;
  vramfit::library::answer(rows, matrix->rows);
  vramfit::library::answer(columns, matrix->columns);
  vramfit::library::answer(nonzeros, matrix->nonzeros);
  return cusparse::kSuccess;
}

VF_ABI int cusparseCreateDnMat(Dense** out, int64_t rows, int64_t columns, int64_t, void*, int value_type, int) {
  const int status = create(out);
  if (status == cusparse::kSuccess) **out = {rows, columns, value_type, 1};
  return status;
}

VF_ABI int cusparseCreateDnVec(Dense** out, int64_t size, void*, int value_type) {
  const int status = create(out);
  if (status == cusparse::kSuccess) **out = {size, 1, value_type, 1};
  return status;
}

VF_ABI int cusparseDestroyDnMat(Dense* matrix) { return destroy(matrix); }
VF_ABI int cusparseDestroyDnVec(Dense* vector) { return destroy(vector); }

VF_ABI int cusparseDnMatSetStridedBatch(Dense* matrix, int batches, int64_t) {
  if (matrix == nullptr) return cusparse::kInvalidValue;
  matrix->batches = batches;
  return cusparse::kSuccess;
}

VF_ABI int cusparseCreateMatDescr(Setting** out) { return create(out); }
VF_ABI int cusparseDestroyMatDescr(Setting* setting) { return destroy(setting); }
VF_ABI int cusparseSetMatType(Setting*, int) { return cusparse::kSuccess; }
VF_ABI int cusparseSetMatDiagType(Setting*, int) { return cusparse::kSuccess; }
VF_ABI int cusparseSetMatFillMode(Setting*, int) { return cusparse::kSuccess; }
VF_ABI int cusparseSetMatIndexBase(Setting*, int) { return cusparse::kSuccess; }
VF_ABI int cusparseCreateBsrsv2Info(Setting** out) { return create(out); }
VF_ABI int cusparseDestroyBsrsv2Info(Setting* info) { return destroy(info); }
VF_ABI int cusparseCreateBsrsm2Info(Setting** out) { return create(out); }
VF_ABI int cusparseDestroyBsrsm2Info(Setting* info) { return destroy(info); }
VF_ABI int cusparseSpGEMM_createDescr(Steps** out) { return create(out); }
VF_ABI int cusparseSpGEMM_destroyDescr(Steps* steps) { return destroy(steps); }
VF_ABI int cusparseSpSV_createDescr(Steps** out) { return create(out); }
VF_ABI int cusparseSpSV_destroyDescr(Steps* steps) { return destroy(steps); }
VF_ABI int cusparseSpSM_createDescr(Steps** out) { return create(out); }
VF_ABI int cusparseSpSM_destroyDescr(Steps* steps) { return destroy(steps); }
