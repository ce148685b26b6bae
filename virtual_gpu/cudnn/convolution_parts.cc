#include "virtual_gpu/cudnn/convolution_parts.h"

namespace vramfit::cudnn {
namespace {

struct Names {
  Direction direction;
  int32_t convolution, x, w;
};

std::optional<Names> names_of(int32_t operation) {
  switch (operation) {
    case kConvolutionForward:
      return Names{Direction::kForward, kForwardConvolution, kForwardX, kForwardW};
    case kConvolutionBackwardData:
      return Names{Direction::kData, kDataConvolution, kDataDx, kDataW};
    case kConvolutionBackwardFilter:
      return Names{Direction::kFilter, kFilterConvolution, kFilterX, kFilterDw};
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<ConvolutionParts> parts_of(const Node& graph) {
  const auto& operations = graph.children(kGraphOperations);
  if (operations.size() != 1 || operations.front() == nullptr) return std::nullopt;
  const Node& operation = *operations.front();
  const auto names = names_of(operation.type);
  if (!names) return std::nullopt;
  const auto child = [&](int32_t name) {
    const auto& held = operation.children(name);
    return held.empty() ? nullptr : held.front();
  };
  ConvolutionParts parts{names->direction, child(names->convolution), child(names->x), child(names->w)};
  if (parts.convolution == nullptr || parts.x == nullptr || parts.w == nullptr) return std::nullopt;
  return parts;
}

}  // namespace vramfit::cudnn
