// The library's version, whole and by parts.
#include "cuda_facts.h"
#include "virtual_gpu/library/abi.h"
#include "virtual_gpu/library/property.h"

namespace library = vramfit::library;

namespace {

constexpr int kVersionKnown = 0;
constexpr int kNoSuchProperty = 104;  // CURAND_STATUS_OUT_OF_RANGE

library::Version emulated() { return library::emulated_version("nvidia-curand", vramfit::cuda::kCurand); }

}  // namespace

VF_ABI int curandGetVersion(int* version) {
  if (version == nullptr) return kNoSuchProperty;
  const library::Version now = emulated();
  *version = now[0] * 1000 + now[1] * 100 + now[2];
  return kVersionKnown;
}

VF_ABI int curandGetProperty(int property, int* value) {
  return library::tell_property(emulated(), property, value) ? kVersionKnown : kNoSuchProperty;
}
