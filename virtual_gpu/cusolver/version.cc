// The library's version, whole and by parts.
#include "cuda_facts.h"
#include "virtual_gpu/cusolver/handle.h"
#include "virtual_gpu/library/property.h"

namespace library = vramfit::library;

namespace {

library::Version emulated() { return library::emulated_version("nvidia-cusolver", vramfit::cuda::kCusolver); }

int number_of(const library::Version& version) { return version[0] * 1000 + version[1] * 100 + version[2]; }

}  // namespace

VF_ABI int cusolverGetVersion(int* version) {
  if (version == nullptr) return vramfit::cusolver::kInvalidValue;
  *version = number_of(emulated());
  return vramfit::cusolver::kSuccess;
}

VF_ABI int cusolverGetProperty(int property, int* value) {
  return library::tell_property(emulated(), property, value) ? vramfit::cusolver::kSuccess
                                                             : vramfit::cusolver::kInvalidValue;
}
