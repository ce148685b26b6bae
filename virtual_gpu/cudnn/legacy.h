// The descriptors of cuDNN's older, non-graph API, as plain values. Each remembers what was set so that the getters
// answer it.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_LEGACY_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_LEGACY_H

#include <array>
#include <cstdint>
#include <vector>

#include "virtual_gpu/cudnn/handle.h"
#include "virtual_gpu/cudnn/status.h"

namespace vramfit::cudnn {

inline constexpr int kMaxDimensions = 8;  // CUDNN_DIM_MAX

struct TensorDescriptor {
  int type = kFloat;
  int rank = 0;
  std::array<int, kMaxDimensions> dimensions{};
  std::array<int, kMaxDimensions> strides{};

  int64_t elements() const;
  std::vector<int64_t> shape() const;
  // Channels are the fastest dimension, as in NHWC.
  bool is_channels_last() const;
};

struct FilterDescriptor {
  int type = kFloat;
  int format = 0;  // cudnnTensorFormat_t
  int rank = 0;
  std::array<int, kMaxDimensions> dimensions{};

  std::vector<int64_t> shape() const;
};

struct ConvolutionDescriptor {
  int spatial_rank = 0;
  std::array<int, kMaxDimensions> padding{}, stride{}, dilation{};
  int mode = 0, compute_type = kFloat, math_type = 0, groups = 1;
};

struct ActivationDescriptor {
  int mode = 0, nan = 0;
  double coefficient = 0;
};

struct DropoutDescriptor {
  float probability = 0;
  void* states = nullptr;
  size_t state_bytes = 0;
  unsigned long long seed = 0;
};

struct PoolingDescriptor {
  int mode = 0, nan = 0;
  std::array<int, 2> window{}, padding{}, stride{};
};

struct CtcDescriptor {
  int compute_type = kFloat, normalization = 0, gradient_mode = 0, max_label_length = 0;
};

struct SpatialDescriptor {
  int sampler = 0, type = kFloat, rank = 0;
  std::array<int, kMaxDimensions> dimensions{};
};

}  // namespace vramfit::cudnn

#endif
