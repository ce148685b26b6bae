// The library's version, whole and by parts.
#include "cuda_facts.h"
#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/property.h"

namespace library = vramfit::library;

namespace {

enum Status : int { kSuccess = 0, kNotInitialized = 1, kInvalidValue = 3 };

library::Version emulated() { return library::emulated_version("nvidia-cusparselt", vramfit::cuda::kCusparselt); }

int number_of(const library::Version& version) { return version[0] * 1000 + version[1] * 100 + version[2]; }

}  // namespace

VF_ABI int cusparseLtGetVersion(const void* handle, int* version) {
  if (handle == nullptr) return kNotInitialized;
  if (version == nullptr) return kInvalidValue;
  *version = number_of(emulated());
  return kSuccess;
}

VF_ABI int cusparseLtGetProperty(int property, int* value) {
  return library::tell_property(emulated(), property, value) ? kSuccess : kInvalidValue;
}
