// The library's version, whole and by parts.
#include "cuda_facts.h"
#include "virtual_gpu/cusparse/descriptor.h"
#include "virtual_gpu/library/property.h"

namespace library = vramfit::library;

namespace {

library::Version emulated() { return library::emulated_version("nvidia-cusparse", vramfit::cuda::kCusparse); }

int number_of(const library::Version& version) { return version[0] * 1000 + version[1] * 100 + version[2]; }

}  // namespace

VF_ABI int cusparseGetVersion(vramfit::cusparse::Handle* handle, int* version) {
  if (handle == nullptr) return vramfit::cusparse::kNotInitialized;
  if (version == nullptr) return vramfit::cusparse::kInvalidValue;
  *version = number_of(emulated());
  return vramfit::cusparse::kSuccess;
}

VF_ABI int cusparseGetProperty(int property, int* value) {
  return library::tell_property(emulated(), property, value) ? vramfit::cusparse::kSuccess
                                                             : vramfit::cusparse::kInvalidValue;
}
