// The library's version, whole and by parts.
#include "virtual_gpu/cublas/handle.h"
#include "virtual_gpu/library/property.h"

namespace library = vramfit::library;

namespace {

library::Version emulated() {
  return library::emulated_version(
      "nvidia-cublas", VRAMFIT_CUDA_MAJOR == 12 ? library::Version{12, 8, 4, 1} : library::Version{13, 1, 0, 3});
}

int number_of(const library::Version& version) { return version[0] * 10000 + version[1] * 100 + version[2]; }

}  // namespace

VF_ABI int cublasGetVersion_v2(vramfit::cublas::Handle*, int* version) {
  library::answer(version, number_of(emulated()));
  return vramfit::cublas::kSuccess;
}

// Of the older interface, without a handle.
VF_ABI int cublasGetVersion(int* version) { return cublasGetVersion_v2(nullptr, version); }
VF_ABI size_t cublasGetCudartVersion() { return VRAMFIT_CUDA_MAJOR == 12 ? 12080 : 13000; }

VF_ABI int cublasGetProperty(int property, int* value) {
  return library::tell_property(emulated(), property, value) ? vramfit::cublas::kSuccess
                                                             : vramfit::cublas::kInvalidValue;
}
