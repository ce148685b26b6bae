// The descriptors of the one convolution that an operation graph stands for.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_CONVOLUTION_PARTS_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_CONVOLUTION_PARTS_H

#include <cstdint>
#include <optional>

#include "virtual_gpu/cudnn/descriptor.h"

namespace vramfit::cudnn {

enum class Direction : uint32_t { kForward, kData, kFilter };

struct ConvolutionParts {
  Direction direction = Direction::kForward;
  NodePointer convolution, x, w;  // x, w: its input and filter, or the gradients of those
};

// Nothing for graphs of several operations, or of another one.
std::optional<ConvolutionParts> parts_of(const Node& graph);

}  // namespace vramfit::cudnn

#endif
