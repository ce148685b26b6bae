#include "virtual_gpu/cusolver/handle.h"

using vramfit::cusolver::Handle;
namespace cusolver = vramfit::cusolver;
namespace ledger = vramfit::ledger;

namespace {

// Settings of an iterative method: kept, because they may be asked for; they change no size.
struct JacobiSettings {
  double tolerance = 0;
  int max_sweeps = 100, sorts = 1;
};

template <typename T>
int create(T** out) {
  if (out == nullptr) return cusolver::kInvalidValue;
  *out = new T;
  return cusolver::kSuccess;
}

}  // namespace

VF_ABI int cusolverDnCreate(Handle** handle) {
  if (handle == nullptr) return cusolver::kInvalidValue;
  *handle = nullptr;
  if (ledger::state() != ledger::State::kReady) return cusolver::kNotInitialized;
  if (!ledger::charge_use(ledger::current_card(), ledger::Library::kSolver)) return cusolver::kAllocFailed;
  return create(handle);
}

VF_ABI int cusolverDnDestroy(Handle* handle) {
  delete handle;
  return cusolver::kSuccess;
}

VF_ABI int cusolverDnSetStream(Handle* handle, vramfit::library::Stream stream) {
  if (handle == nullptr) return cusolver::kNotInitialized;
  handle->stream = stream;
  return cusolver::kSuccess;
}

VF_ABI int cusolverDnCreateParams(int** parameters) { return create(parameters); }
VF_ABI int cusolverDnDestroyParams(int* parameters) {
  delete parameters;
  return cusolver::kSuccess;
}

VF_ABI int cusolverDnCreateGesvdjInfo(JacobiSettings** settings) { return create(settings); }
VF_ABI int cusolverDnDestroyGesvdjInfo(JacobiSettings* settings) {
  delete settings;
  return cusolver::kSuccess;
}
VF_ABI int cusolverDnCreateSyevjInfo(JacobiSettings** settings) { return create(settings); }
VF_ABI int cusolverDnDestroySyevjInfo(JacobiSettings* settings) {
  delete settings;
  return cusolver::kSuccess;
}

#define VF_CUSOLVER_SETTING(Name, Type, field)               \
  VF_ABI int Name(JacobiSettings* settings, Type value) {    \
    if (settings == nullptr) return cusolver::kInvalidValue; \
    settings->field = value;                                 \
    return cusolver::kSuccess;                               \
  }
VF_CUSOLVER_SETTING(cusolverDnXgesvdjSetTolerance, double, tolerance)
VF_CUSOLVER_SETTING(cusolverDnXgesvdjSetMaxSweeps, int, max_sweeps)
VF_CUSOLVER_SETTING(cusolverDnXgesvdjSetSortEig, int, sorts)
VF_CUSOLVER_SETTING(cusolverDnXsyevjSetSortEig, int, sorts)
