// What a result calls its rows of owners (OwnerRow::owner): of blocks, and of what is no block.
#ifndef VRAMFIT_MODEL_OWNER_NAMES_H
#define VRAMFIT_MODEL_OWNER_NAMES_H

#include <string_view>

namespace vramfit::model::owner {

inline constexpr std::string_view kWeights = "weights";
inline constexpr std::string_view kGradients = "gradients";
inline constexpr std::string_view kOptimizer = "optimizer";
inline constexpr std::string_view kInputs = "inputs";
inline constexpr std::string_view kActivations = "activations";
inline constexpr std::string_view kWorkspaces = "workspaces";
inline constexpr std::string_view kBuffers = "buffers";
inline constexpr std::string_view kAverages = "EMA copies";
inline constexpr std::string_view kMasters = "fp32 masters";
inline constexpr std::string_view kQuantization = "quantization state";
inline constexpr std::string_view kCache = "KV cache";
inline constexpr std::string_view kOtherModels = "other models";
inline constexpr std::string_view kTemporaries = "temporaries";
inline constexpr std::string_view kLoaded = "loaded";
inline constexpr std::string_view kOtherTensors = "other tensors";

// What is free of PyTorch's segments: those without a block, and what lies between blocks.
inline constexpr std::string_view kCached = "cached";
inline constexpr std::string_view kFragmented = "fragmented";
// Outside of PyTorch's memory.
inline constexpr std::string_view kContext = "context";
inline constexpr std::string_view kLibraries = "libraries";
inline constexpr std::string_view kOccupied = "occupied";
inline constexpr std::string_view kUnexplained = "unexplained";

}  // namespace vramfit::model::owner

#endif
