#include "virtual_gpu/cudnn/graph_work.h"

#include <algorithm>
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

library::Work convolution(const Node& operation, Direction direction, int32_t x_name, int32_t w_name, int32_t y_name) {
  const Tensor x = tensor_at(operation, x_name), w = tensor_at(operation, w_name), y = tensor_at(operation, y_name);
  library::Work work{.kind = VF_RECORD_CONVOLUTION,
                     .type = rate_of(x.type),
                     .multiply_adds = convolution_multiply_adds(y.dimensions, w.dimensions),
                     .bytes = x.bytes() + w.bytes() + y.bytes()};
  set_product_of_convolution(direction, x.dimensions, w.dimensions, y.dimensions, work);
  return work;
}

library::Work product(const Node& operation) {
  const Tensor a = tensor_at(operation, kMatmulA), b = tensor_at(operation, kMatmulB),
               c = tensor_at(operation, kMatmulC);
  const int64_t inner = a.dimensions.empty() ? 0 : a.dimensions.back();
  const size_t rank = c.dimensions.size();
  const int64_t rows = rank < 2 ? 0 : c.dimensions[rank - 2], columns = rank < 2 ? 0 : c.dimensions[rank - 1];
  return {.kind = VF_RECORD_MATMUL,
          .type = rate_of(a.type),
          .multiply_adds = elements(c.dimensions) * inner,
          .bytes = a.bytes() + b.bytes() + c.bytes(),
          .rows = rows,
          .columns = columns,
          .batch = rows > 0 && columns > 0 ? elements(c.dimensions) / (rows * columns) : 1};
}

// Attention of [batch, heads, tokens, width] tensors: two products forward, five backward.
std::optional<library::Work> attention(const Node& operation, int32_t q_name, int32_t k_name, int32_t v_name,
                                       int64_t products) {
  const Tensor q = tensor_at(operation, q_name), k = tensor_at(operation, k_name), v = tensor_at(operation, v_name);
  if (q.dimensions.size() != 4 || k.dimensions.size() != 4) return std::nullopt;
  return library::Work{.kind = VF_RECORD_MATMUL,
                       .type = rate_of(q.type),
                       .multiply_adds = elements(q.dimensions) * k.dimensions[2] * products,
                       .bytes = q.bytes() * 2 + k.bytes() + v.bytes(),
                       .rows = q.dimensions[2],
                       .columns = k.dimensions[2],
                       .batch = q.dimensions[0] * q.dimensions[1]};
}

std::optional<library::Work> work_of_operation(const Node& operation) {
  switch (operation.type) {
    case kConvolutionForward:
      return convolution(operation, Direction::kForward, kForwardX, kForwardW, kForwardY);
    case kConvolutionBackwardData:
      return convolution(operation, Direction::kData, kDataDx, kDataW, kDataDy);
    case kConvolutionBackwardFilter:
      return convolution(operation, Direction::kFilter, kFilterX, kFilterDw, kFilterDy);
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

void set_product_of_convolution(Direction direction, const Dimensions& input, const Dimensions& filter,
                                const Dimensions& output, library::Work& work) {
  if (input.size() < 3 || filter.size() < 3 || output.size() < 3 || filter[1] <= 0 || output[1] <= 0) return;
  work.batch = std::max<int64_t>(input[1] / filter[1], 1);
  const int64_t pixels = elements(output) / output[1], filters = filter[0] / work.batch;
  work.rows = direction == Direction::kFilter ? filters : pixels;
  work.columns = direction == Direction::kForward  ? filters
                 : direction == Direction::kFilter ? elements(filter) / filter[0]
                                                   : filter[1];
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
