// Which convolution an operation graph stands for.
#include "virtual_gpu/cudnn/recorded.h"

namespace vramfit::cudnn {
namespace {

// Float32, float16, bfloat16 in NCHW at 0, 2, 4; the same in NHWC one higher.
std::optional<uint32_t> kind_of(int32_t type, bool channels_last) {
  switch (type) {
    case kFloat:
      return channels_last ? 1u : 0u;
    case kHalf:
      return channels_last ? 3u : 2u;
    case kBfloat16:
      return channels_last ? 5u : 4u;
    default:
      return std::nullopt;
  }
}

std::array<int32_t, 2> pair_of(const std::vector<int64_t>& values) {
  return {static_cast<int32_t>(values[0]), static_cast<int32_t>(values[1])};
}

}  // namespace

std::optional<Problem> problem_of(const Node& graph) {
  const auto parts = parts_of(graph);
  if (!parts) return std::nullopt;
  const auto& [direction, convolution, x, w] = *parts;
  const auto sizes = x->integers(kTensorDimensions), strides = x->integers(kTensorStrides),
             filter = w->integers(kTensorDimensions);
  const auto stride = convolution->integers(kConvolutionStrides),
             padding = convolution->integers(kConvolutionPrePadding),
             dilation = convolution->integers(kConvolutionDilations);
  if (sizes.size() != 4 || strides.size() != 4 || filter.size() != 4 || stride.size() != 2 || padding.size() != 2 ||
      dilation.size() != 2 || filter[1] < 1) {
    return std::nullopt;
  }
  const auto kind = kind_of(x->enumerator(kTensorDataType, -1), strides[1] == 1 && sizes[1] > 1);
  if (!kind) return std::nullopt;
  Problem problem;
  problem.direction = direction;
  problem.kind = *kind;
  problem.batch = static_cast<int32_t>(sizes[0]);
  problem.layer = {.channels = static_cast<int32_t>(sizes[1]),
                   .height = static_cast<int32_t>(sizes[2]),
                   .width = static_cast<int32_t>(sizes[3]),
                   .outputs = static_cast<int32_t>(filter[0]),
                   .kernel = pair_of({filter[2], filter[3]}),
                   .stride = pair_of(stride),
                   .padding = pair_of(padding),
                   .dilation = pair_of(dilation),
                   .groups = static_cast<int32_t>(sizes[1] / filter[1])};
  return problem;
}

}  // namespace vramfit::cudnn
