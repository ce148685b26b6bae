#include "virtual_gpu/cudnn/layer_key.h"

#include <vector>

#include "virtual_gpu/cudnn/convolution_parts.h"
#include "virtual_gpu/cudnn/handle.h"

namespace vramfit::cudnn {
namespace {

constexpr int64_t kGrain = 512;       // kMinBlockSize of c10/cuda/CUDACachingAllocator.cpp
constexpr uint64_t kMarkers = 40961;  // a prime, so that near hashes fall apart

const char* direction_name(Direction direction) {
  switch (direction) {
    case Direction::kForward:
      return "forward";
    case Direction::kData:
      return "data";
    case Direction::kFilter:
      break;
  }
  return "filter";
}

const char* type_name(int32_t type) {
  switch (type) {
    case kFloat:
      return "float32";
    case kHalf:
      return "float16";
    case kBfloat16:
      return "bfloat16";
    default:
      return nullptr;
  }
}

std::string list(const char* name, const std::vector<int64_t>& values) {
  std::string text = std::string(" ") + name + "=";
  for (size_t i = 0; i < values.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(values[i]);
  return text;
}

}  // namespace

std::optional<std::string> layer_key(const Node& graph) {
  const auto parts = parts_of(graph);
  if (!parts) return std::nullopt;
  const auto& [direction, convolution, x, w] = *parts;
  const char* type = type_name(x->enumerator(kTensorDataType, -1));
  const auto sizes = x->integers(kTensorDimensions), strides = x->integers(kTensorStrides);
  if (type == nullptr || sizes.size() < 3 || strides.size() != sizes.size()) return std::nullopt;
  const bool channels_last = strides[1] == 1 && sizes[1] > 1;
  const int64_t version = emulated_version();
  return "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + " " +
         direction_name(direction) + " " + type + (channels_last ? " channels_last" : " contiguous") +
         list("x", sizes) + list("w", w->integers(kTensorDimensions)) +
         list("stride", convolution->integers(kConvolutionStrides)) +
         list("padding", convolution->integers(kConvolutionPrePadding)) +
         list("dilation", convolution->integers(kConvolutionDilations));
}

int64_t marker_of(std::string_view key) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char letter : key) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return kGrain * static_cast<int64_t>(1 + hash % kMarkers);
}

}  // namespace vramfit::cudnn
