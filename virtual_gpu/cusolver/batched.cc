// The one routine that hands a value to the host: gesvda writes residuals to a host array when asked for.
#include <algorithm>

#include "virtual_gpu/cusolver/handle.h"

using vramfit::cusolver::Handle;
namespace cusolver = vramfit::cusolver;

#define VF_APPROXIMATE_SVD(L)                                                                                     \
  VF_ABI int cusolverDn##L##gesvdaStridedBatched(Handle* handle, int, int, int, int, const void*, int, long long, \
                                                 void*, long long, void*, int, long long, void*, int, long long,  \
                                                 void*, int, int*, double* residuals, int batch) {                \
    if (residuals != nullptr && batch > 0) std::fill_n(residuals, batch, 0.0);                                    \
    return cusolver::launch(handle);                                                                              \
  }
VF_APPROXIMATE_SVD(S)
VF_APPROXIMATE_SVD(D)
VF_APPROXIMATE_SVD(C)
VF_APPROXIMATE_SVD(Z)
