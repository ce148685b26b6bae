// The getters that each library has of its own version: one number (major * 10000 and so on), or one part of it.
#ifndef VRAMFIT_VIRTUAL_GPU_LIBRARY_PROPERTY_H
#define VRAMFIT_VIRTUAL_GPU_LIBRARY_PROPERTY_H

#include "virtual_gpu/library/requirement.h"

namespace vramfit::library {

enum Property : int { kMajorVersion = 0, kMinorVersion = 1, kPatchLevel = 2 };  // libraryPropertyType

// The version that the loaded PyTorch was built for; without one, `otherwise`: what the PyPI wheels of this CUDA
// major's last torch ask for.
inline Version emulated_version(std::string_view package, const Version& otherwise) {
  return required_version(package).value_or(otherwise);
}

// A CUDA release as its own functions count them: 12.8 is 12080.
constexpr int release_number(const Version& release) { return release[0] * 1000 + release[1] * 10; }

// One part of a version. False, and nothing written: no such part.
inline bool tell_property(const Version& version, int property, int* value) {
  if (value == nullptr || property < kMajorVersion || property > kPatchLevel) return false;
  *value = version[static_cast<size_t>(property)];
  return true;
}

}  // namespace vramfit::library

#endif
