// How much work an operation graph is, read from the tensors of its operations.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_GRAPH_WORK_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_GRAPH_WORK_H

#include <vector>

#include "virtual_gpu/cudnn/descriptor.h"
#include "virtual_gpu/library/work.h"

namespace vramfit::cudnn {

// One entry per convolution, matrix product or attention of the graph; pointwise operations have none.
std::vector<library::Work> work_of(const Node& graph);

// A convolution: every output element is `filter elements / filters` multiply-adds, groups included, because a
// filter's second dimension is already channels per group. The same holds for both gradients.
int64_t convolution_multiply_adds(const std::vector<int64_t>& output, const std::vector<int64_t>& filter);

}  // namespace vramfit::cudnn

#endif
