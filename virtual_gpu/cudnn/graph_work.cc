#include "virtual_gpu/cudnn/graph_work.h"

#include <functional>
#include <numeric>
#include <optional>

namespace vramfit::cudnn {
namespace {

using Dimensions = std::vector<int64_t>;

int64_t elements(const Dimensions& dimensions) {
  return std::accumulate(dimensions.begin(), dimensions.end(), int64_t{1}, std::multiplies<>());
}

struct Tensor {
  Dimensions dimensions;
  int32_t type = kFloat;
  int64_t bytes() const { return elements(dimensions) * bytes_of(type); }
};

Tensor tensor_at(const Node& operation, int32_t name) {
  const auto& held = operation.children(name);
  if (held.empty() || held.front() == nullptr) return {};
  return {held.front()->integers(kTensorDimensions), held.front()->enumerator(kTensorDataType, kFloat)};
}

library::Work convolution(const Node& operation, int32_t x_name, int32_t w_name, int32_t y_name) {
  const Tensor x = tensor_at(operation, x_name), w = tensor_at(operation, w_name), y = tensor_at(operation, y_name);
  return {.kind = VF_RECORD_CONVOLUTION,
          .type = rate_of(x.type),
          .multiply_adds = convolution_multiply_adds(y.dimensions, w.dimensions),
          .bytes = x.bytes() + w.bytes() + y.bytes()};
}

library::Work product(const Node& operation) {
  const Tensor a = tensor_at(operation, kMatmulA), b = tensor_at(operation, kMatmulB),
               c = tensor_at(operation, kMatmulC);
  const int64_t inner = a.dimensions.empty() ? 0 : a.dimensions.back();
  return {.kind = VF_RECORD_MATMUL,
          .type = rate_of(a.type),
          .multiply_adds = elements(c.dimensions) * inner,
          .bytes = a.bytes() + b.bytes() + c.bytes()};
}

// Attention of [batch, heads, tokens, width] tensors: two products forward, five backward.
std::optional<library::Work> attention(const Node& operation, int32_t q_name, int32_t k_name, int32_t v_name,
                                       int64_t products) {
  const Tensor q = tensor_at(operation, q_name), k = tensor_at(operation, k_name), v = tensor_at(operation, v_name);
  if (q.dimensions.size() != 4 || k.dimensions.size() != 4) return std::nullopt;
  return library::Work{.kind = VF_RECORD_MATMUL,
                       .type = rate_of(q.type),
                       .multiply_adds = elements(q.dimensions) * k.dimensions[2] * products,
                       .bytes = q.bytes() * 2 + k.bytes() + v.bytes()};
}

std::optional<library::Work> work_of_operation(const Node& operation) {
  switch (operation.type) {
    case kConvolutionForward:
      return convolution(operation, kForwardX, kForwardW, kForwardY);
    case kConvolutionBackwardData:
      return convolution(operation, kDataDx, kDataW, kDataDy);
    case kConvolutionBackwardFilter:
      return convolution(operation, kFilterX, kFilterDw, kFilterDy);
    case kMatmulOperation:
      return product(operation);
    case kSdpaForward:
      return attention(operation, kSdpaForwardQ, kSdpaForwardK, kSdpaForwardV, 2);
    case kSdpaBackward:
      return attention(operation, kSdpaBackwardQ, kSdpaBackwardK, kSdpaBackwardV, 5);
    default:
      return std::nullopt;
  }
}

}  // namespace

int64_t convolution_multiply_adds(const Dimensions& output, const Dimensions& filter) {
  if (output.empty() || filter.empty() || filter.front() <= 0) return 0;
  return elements(output) * (elements(filter) / filter.front());
}

std::vector<library::Work> work_of(const Node& graph) {
  std::vector<library::Work> all;
  for (const NodePointer& operation : graph.children(kGraphOperations)) {
    if (operation == nullptr) continue;
    if (auto work = work_of_operation(*operation)) all.push_back(*work);
  }
  return all;
}

}  // namespace vramfit::cudnn
