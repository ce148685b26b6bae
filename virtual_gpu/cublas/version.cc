// The library's version, whole and by parts.
#include "cuda_facts.h"
#include "virtual_gpu/cublas/handle.h"
#include "virtual_gpu/library/property.h"

namespace library = vramfit::library;

namespace {

library::Version emulated() { return library::emulated_version("nvidia-cublas", vramfit::cuda::kCublas); }

int number_of(const library::Version& version) { return version[0] * 10000 + version[1] * 100 + version[2]; }

}  // namespace

VF_ABI int cublasGetVersion_v2(vramfit::cublas::Handle*, int* version) {
  library::answer(version, number_of(emulated()));
  return vramfit::cublas::kSuccess;
}

// The older interface, without a handle.
VF_ABI int cublasGetVersion(int* version) { return cublasGetVersion_v2(nullptr, version); }
VF_ABI size_t cublasGetCudartVersion() { return library::release_number(vramfit::cuda::kCublasCudart); }

VF_ABI int cublasGetProperty(int property, int* value) {
  return library::tell_property(emulated(), property, value) ? vramfit::cublas::kSuccess
                                                             : vramfit::cublas::kInvalidValue;
}
