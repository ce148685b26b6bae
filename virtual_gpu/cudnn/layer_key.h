// A convolution in one line of text: what workspaces are learned by, in whatever process and run it is met.
#ifndef VRAMFIT_VIRTUAL_GPU_CUDNN_LAYER_KEY_H
#define VRAMFIT_VIRTUAL_GPU_CUDNN_LAYER_KEY_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "virtual_gpu/cudnn/descriptor.h"

namespace vramfit::cudnn {

// "cuDNN 9.20 forward float16 channels_last x=8,64,56,56 w=64,64,3,3 stride=1,1 padding=1,1 dilation=1,1": of a graph
// of one convolution of any rank, in the release of cuDNN that the job's PyTorch was built for. Nothing for other
// graphs and types.
std::optional<std::string> layer_key(const Node& graph);

// A workspace size that tells a layer's from other layers' in a list of allocations: the same in every process, a
// multiple of the allocator's 512 bytes, at most 20 MiB. Two layers may share one by chance.
int64_t marker_of(std::string_view key);

}  // namespace vramfit::cudnn

#endif
