// The library's version, whole and by parts.
#include "cuda_facts.h"
#include "virtual_gpu/cublaslt/layout.h"
#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/property.h"

namespace library = vramfit::library;

namespace {

library::Version emulated() { return library::emulated_version("nvidia-cublas", vramfit::cuda::kCublas); }

int number_of(const library::Version& version) { return version[0] * 10000 + version[1] * 100 + version[2]; }

}  // namespace

VF_ABI size_t cublasLtGetVersion() { return static_cast<size_t>(number_of(emulated())); }
VF_ABI size_t cublasLtGetCudartVersion() { return library::release_number(vramfit::cuda::kCublasCudart); }

VF_ABI int cublasLtGetProperty(int property, int* value) {
  return library::tell_property(emulated(), property, value) ? vramfit::cublaslt::kSuccess
                                                             : vramfit::cublaslt::kInvalidValue;
}
