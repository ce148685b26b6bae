// How much work an operation graph is, read from the tensors of its operations.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_GRAPH_WORK_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_GRAPH_WORK_H

#include <vector>

#include "virtual_gpu/cudnn/convolution_parts.h"
#include "virtual_gpu/cudnn/descriptor.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cudnn {

// One entry per convolution, matrix product or attention of the graph; pointwise operations have none.
std::vector<library::Work> work_of(const Node& graph);

// A convolution: every output element is `filter elements / filters` multiply-adds, groups included, because a
// filter's second dimension is already channels per group. The same holds for both gradients.
int64_t convolution_multiply_adds(const std::vector<int64_t>& output, const std::vector<int64_t>& filter);

// The matrix product that a convolution is: how many output pixels by how many filters (or input channels, backward),
// and a filter's gradient as filters by the elements of one.
void set_product_of_convolution(Direction direction, const std::vector<int64_t>& input,
                                const std::vector<int64_t>& filter, const std::vector<int64_t>& output,
                                library::Work& work);

}  // namespace vramfit::cudnn

#endif
