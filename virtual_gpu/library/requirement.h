// Which version of an NVIDIA library the loaded PyTorch was built for. A stand-in answers as that version would: some
// of PyTorch's choices (which convolutions avoid cuDNN, which collectives exist) depend on it.
#ifndef VRAMFIT_VIRTUAL_GPU_LIBRARY_REQUIREMENT_H
#define VRAMFIT_VIRTUAL_GPU_LIBRARY_REQUIREMENT_H

#include <array>
#include <optional>
#include <string_view>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::library {

using Version = std::array<int, 4>;  // major, minor, patch, build

// The version that `metadata` (a wheel's METADATA) names for a package such as "nvidia-cudnn", whatever CUDA major it
// is for. With a range, its lower end.
VF_EXPORT std::optional<Version> parse_requirement(std::string_view metadata, std::string_view package);

// The same from the METADATA beside the loaded libtorch_cuda.so; nothing when there is none (a source build). Read
// once per package.
VF_EXPORT std::optional<Version> required_version(std::string_view package);

}  // namespace vramfit::library

#endif
