// The older convolution API, which PyTorch uses under TORCH_CUDNN_V8_API_DISABLED=1 and for fused bias and activation.
// Every direction offers one algorithm, implicit GEMM, which the documentation describes as needing no workspace.
#include <algorithm>

#include "virtual_gpu/cudnn/graph_work.h"
#include "virtual_gpu/cudnn/legacy.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cudnn {
namespace {

struct AlgorithmPerformance {  // cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t
  int algorithm;
  int status;
  float time_ms;
  size_t memory_bytes;
  int determinism;  // CUDNN_DETERMINISTIC is 1
  int math_type;
  int reserved[3];
};
static_assert(sizeof(AlgorithmPerformance) == 48);

// What torch calls algorithm 0 is non-deterministic in the backward directions; 1 is its deterministic twin.
enum AlgorithmNumber : int { kForwardAlgorithm = 0, kBackwardDataAlgorithm = 1, kBackwardFilterAlgorithm = 1 };

int offer_algorithm(const ConvolutionDescriptor* convolution, AlgorithmNumber direction, int wanted, int* found,
                    AlgorithmPerformance* results) {
  if (found == nullptr || results == nullptr || convolution == nullptr) return kNullPointer;
  *found = 0;
  if (wanted < 1) return kBadParam;
  results[0] = {.algorithm = direction,
                .status = kSuccess,
                .time_ms = 1.0F,
                .memory_bytes = 0,
                .determinism = 1,
                .math_type = convolution->math_type,
                .reserved = {}};
  *found = 1;
  return kSuccess;
}

int answer_workspace(size_t* bytes) {
  if (bytes == nullptr) return kNullPointer;
  *bytes = 0;
  ledger::note_assumed("cuDNN's older convolution API runs implicit GEMM, without a workspace");
  return kSuccess;
}

int convolve(Handle* handle, Direction direction, const TensorDescriptor* x, const FilterDescriptor* w,
             const TensorDescriptor* y) {
  if (handle == nullptr || x == nullptr || w == nullptr || y == nullptr) return kNullPointer;
  library::Work work{.kind = VF_RECORD_CONVOLUTION, .type = rate_of(x->type), .multiply_adds = 0, .bytes = 0};
  work.multiply_adds = convolution_multiply_adds(y->shape(), w->shape());
  int64_t filter_elements = 1;
  for (const int64_t size : w->shape()) filter_elements *= size;
  work.bytes = (x->elements() + y->elements() + filter_elements) * bytes_of(x->type);
  set_product_of_convolution(direction, x->shape(), w->shape(), y->shape(), work);
  library::run(handle->stream, work, "cudnnConvolution");
  return kSuccess;
}

}  // namespace
}  // namespace vramfit::cudnn

namespace cudnn = vramfit::cudnn;
using cudnn::AlgorithmPerformance;
using cudnn::ConvolutionDescriptor;
using cudnn::FilterDescriptor;
using cudnn::Handle;
using cudnn::TensorDescriptor;

VF_ABI int cudnnSetConvolutionNdDescriptor(ConvolutionDescriptor* descriptor, int rank, const int* padding,
                                           const int* stride, const int* dilation, int mode, int compute_type) {
  if (descriptor == nullptr || padding == nullptr || stride == nullptr || dilation == nullptr) {
    return cudnn::kNullPointer;
  }
  if (rank < 0 || rank > cudnn::kMaxDimensions) return cudnn::kNotSupported;
  descriptor->spatial_rank = rank;
  std::copy_n(padding, rank, descriptor->padding.begin());
  std::copy_n(stride, rank, descriptor->stride.begin());
  std::copy_n(dilation, rank, descriptor->dilation.begin());
  descriptor->mode = mode;
  descriptor->compute_type = compute_type;
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetConvolutionGroupCount(ConvolutionDescriptor* descriptor, int groups) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  descriptor->groups = groups;
  return cudnn::kSuccess;
}

VF_ABI int cudnnSetConvolutionMathType(ConvolutionDescriptor* descriptor, int math_type) {
  if (descriptor == nullptr) return cudnn::kNullPointer;
  descriptor->math_type = math_type;
  return cudnn::kSuccess;
}

VF_ABI int cudnnGetConvolutionForwardAlgorithm_v7(Handle*, TensorDescriptor*, FilterDescriptor*,
                                                  ConvolutionDescriptor* convolution, TensorDescriptor*, int wanted,
                                                  int* found, AlgorithmPerformance* results) {
  return cudnn::offer_algorithm(convolution, cudnn::kForwardAlgorithm, wanted, found, results);
}

VF_ABI int cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle*, FilterDescriptor*, TensorDescriptor*,
                                                       ConvolutionDescriptor* convolution, TensorDescriptor*,
                                                       int wanted, int* found, AlgorithmPerformance* results) {
  return cudnn::offer_algorithm(convolution, cudnn::kBackwardDataAlgorithm, wanted, found, results);
}

VF_ABI int cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle*, TensorDescriptor*, TensorDescriptor*,
                                                         ConvolutionDescriptor* convolution, FilterDescriptor*,
                                                         int wanted, int* found, AlgorithmPerformance* results) {
  return cudnn::offer_algorithm(convolution, cudnn::kBackwardFilterAlgorithm, wanted, found, results);
}

VF_ABI int cudnnFindConvolutionForwardAlgorithmEx(Handle*, TensorDescriptor*, const void*, FilterDescriptor*,
                                                  const void*, ConvolutionDescriptor* convolution, TensorDescriptor*,
                                                  void*, int wanted, int* found, AlgorithmPerformance* results, void*,
                                                  size_t) {
  return cudnn::offer_algorithm(convolution, cudnn::kForwardAlgorithm, wanted, found, results);
}

VF_ABI int cudnnFindConvolutionBackwardDataAlgorithmEx(Handle*, FilterDescriptor*, const void*, TensorDescriptor*,
                                                       const void*, ConvolutionDescriptor* convolution,
                                                       TensorDescriptor*, void*, int wanted, int* found,
                                                       AlgorithmPerformance* results, void*, size_t) {
  return cudnn::offer_algorithm(convolution, cudnn::kBackwardDataAlgorithm, wanted, found, results);
}

VF_ABI int cudnnFindConvolutionBackwardFilterAlgorithmEx(Handle*, TensorDescriptor*, const void*, TensorDescriptor*,
                                                         const void*, ConvolutionDescriptor* convolution,
                                                         FilterDescriptor*, void*, int wanted, int* found,
                                                         AlgorithmPerformance* results, void*, size_t) {
  return cudnn::offer_algorithm(convolution, cudnn::kBackwardFilterAlgorithm, wanted, found, results);
}

VF_ABI int cudnnGetConvolutionForwardWorkspaceSize(Handle*, TensorDescriptor*, FilterDescriptor*,
                                                   ConvolutionDescriptor*, TensorDescriptor*, int, size_t* bytes) {
  return cudnn::answer_workspace(bytes);
}

VF_ABI int cudnnGetConvolutionBackwardDataWorkspaceSize(Handle*, FilterDescriptor*, TensorDescriptor*,
                                                        ConvolutionDescriptor*, TensorDescriptor*, int, size_t* bytes) {
  return cudnn::answer_workspace(bytes);
}

VF_ABI int cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle*, TensorDescriptor*, TensorDescriptor*,
                                                          ConvolutionDescriptor*, FilterDescriptor*, int,
                                                          size_t* bytes) {
  return cudnn::answer_workspace(bytes);
}

VF_ABI int cudnnConvolutionForward(Handle* handle, const void*, TensorDescriptor* x, const void*, FilterDescriptor* w,
                                   const void*, ConvolutionDescriptor*, int, void*, size_t, const void*,
                                   TensorDescriptor* y, void*) {
  return cudnn::convolve(handle, cudnn::Direction::kForward, x, w, y);
}

VF_ABI int cudnnConvolutionBackwardData(Handle* handle, const void*, FilterDescriptor* w, const void*,
                                        TensorDescriptor* dy, const void*, ConvolutionDescriptor*, int, void*, size_t,
                                        const void*, TensorDescriptor* dx, void*) {
  return cudnn::convolve(handle, cudnn::Direction::kData, dx, w, dy);
}

VF_ABI int cudnnConvolutionBackwardFilter(Handle* handle, const void*, TensorDescriptor* x, const void*,
                                          TensorDescriptor* dy, const void*, ConvolutionDescriptor*, int, void*, size_t,
                                          const void*, FilterDescriptor* dw, void*) {
  return cudnn::convolve(handle, cudnn::Direction::kFilter, x, dw, dy);
}

// x, w, convolution, algorithm, workspace, alpha, z, bias, activation, y
VF_ABI int cudnnConvolutionBiasActivationForward(Handle* handle, const void*, TensorDescriptor* x, const void*,
                                                 FilterDescriptor* w, const void*, ConvolutionDescriptor*, int, void*,
                                                 size_t, const void*, TensorDescriptor*, const void*, TensorDescriptor*,
                                                 const void*, cudnn::ActivationDescriptor*, TensorDescriptor* y,
                                                 void*) {
  return cudnn::convolve(handle, cudnn::Direction::kForward, x, w, y);
}
