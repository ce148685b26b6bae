#include "virtual_gpu/cudnn/legacy.h"

#include <algorithm>

#include "virtual_gpu/library/abi.h"

namespace vramfit::cudnn {

std::vector<int64_t> TensorDescriptor::shape() const { return {dimensions.begin(), dimensions.begin() + rank}; }
std::vector<int64_t> FilterDescriptor::shape() const { return {dimensions.begin(), dimensions.begin() + rank}; }

int64_t TensorDescriptor::elements() const {
  int64_t product = 1;
  for (int i = 0; i < rank; ++i) product *= dimensions[static_cast<size_t>(i)];
  return product;
}

bool TensorDescriptor::is_channels_last() const { return rank >= 4 && strides[1] == 1 && dimensions[1] > 1; }

}  // namespace vramfit::cudnn

namespace cudnn = vramfit::cudnn;

// Create and destroy of every kind.
#define VF_CUDNN_DESCRIPTOR(Name)                                                  \
  VF_ABI int cudnnCreate##Name##Descriptor(cudnn::Name##Descriptor** descriptor) { \
    if (descriptor == nullptr) return cudnn::kNullPointer;                         \
    *descriptor = new cudnn::Name##Descriptor;                                     \
    return cudnn::kSuccess;                                                        \
  }                                                                                \
  VF_ABI int cudnnDestroy##Name##Descriptor(cudnn::Name##Descriptor* descriptor) { \
    delete descriptor;                                                             \
    return cudnn::kSuccess;                                                        \
  }

namespace vramfit::cudnn {
using CTCLossDescriptor = CtcDescriptor;
using SpatialTransformerDescriptor = SpatialDescriptor;
}  // namespace vramfit::cudnn

VF_CUDNN_DESCRIPTOR(Tensor)
VF_CUDNN_DESCRIPTOR(Filter)
VF_CUDNN_DESCRIPTOR(Convolution)
VF_CUDNN_DESCRIPTOR(Activation)
VF_CUDNN_DESCRIPTOR(Dropout)
VF_CUDNN_DESCRIPTOR(Pooling)
VF_CUDNN_DESCRIPTOR(CTCLoss)
VF_CUDNN_DESCRIPTOR(SpatialTransformer)

VF_ABI int cudnnSetTensorNdDescriptor(cudnn::TensorDescriptor* descriptor, int type, int rank, const int* dimensions,
                                      const int* strides) {
  if (descriptor == nullptr || dimensions == nullptr || strides == nullptr) return cudnn::kNullPointer;
  if (rank < 0 || rank > cudnn::kMaxDimensions) return cudnn::kNotSupported;
  descriptor->type = type;
  descriptor->rank = rank;
  std::copy_n(dimensions, rank, descriptor->dimensions.begin());
  std::copy_n(strides, rank, descriptor->strides.begin());
  return cudnn::kSuccess;
}

VF_ABI int cudnnGetTensorNdDescriptor(const cudnn::TensorDescriptor* descriptor, int wanted, int* type, int* rank,
                                      int* dimensions, int* strides) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  const int count = std::clamp(wanted, 0, descriptor->rank);
  vramfit::library::answer(type, descriptor->type);
  vramfit::library::answer(rank, descriptor->rank);
  if (dimensions != nullptr) std::copy_n(descriptor->dimensions.begin(), count, dimensions);
  if (strides != nullptr) std::copy_n(descriptor->strides.begin(), count, strides);
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetFilterNdDescriptor(cudnn::FilterDescriptor* descriptor, int type, int format, int rank,
                                      const int* dimensions) {
  if (descriptor == nullptr || dimensions == nullptr) return cudnn::kNullPointer;
  if (rank < 0 || rank > cudnn::kMaxDimensions) return cudnn::kNotSupported;
  descriptor->type = type;
  descriptor->format = format;
  descriptor->rank = rank;
  std::copy_n(dimensions, rank, descriptor->dimensions.begin());
  return cudnn::kSuccess;
}

VF_ABI int cudnnGetFilterNdDescriptor(const cudnn::FilterDescriptor* descriptor, int wanted, int* type, int* format,
                                      int* rank, int* dimensions) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  vramfit::library::answer(type, descriptor->type);
  vramfit::library::answer(format, descriptor->format);
  vramfit::library::answer(rank, descriptor->rank);
  if (dimensions != nullptr) {
    std::copy_n(descriptor->dimensions.begin(), std::clamp(wanted, 0, descriptor->rank), dimensions);
  }
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetActivationDescriptor(cudnn::ActivationDescriptor* descriptor, int mode, int nan,
                                        double coefficient) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = {mode, nan, coefficient};
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetPooling2dDescriptor(cudnn::PoolingDescriptor* descriptor, int mode, int nan, int height, int width,
                                       int pad_height, int pad_width, int stride_height, int stride_width) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  *descriptor = {mode, nan, {height, width}, {pad_height, pad_width}, {stride_height, stride_width}};
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetSpatialTransformerNdDescriptor(cudnn::SpatialDescriptor* descriptor, int sampler, int type, int rank,
                                                  const int* dimensions) {
  if (descriptor == nullptr || dimensions == nullptr) return cudnn::kNullPointer;
  if (rank < 0 || rank > cudnn::kMaxDimensions) return cudnn::kNotSupported;
  descriptor->sampler = sampler;
  descriptor->type = type;
  descriptor->rank = rank;
  std::copy_n(dimensions, rank, descriptor->dimensions.begin());
  return cudnn::kSuccess;
}
