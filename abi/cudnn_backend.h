// Numbers of cuDNN's backend (graph) API: cudnnBackendDescriptorType_t, cudnnBackendAttributeType_t,
// cudnnBackendAttributeName_t and cudnnBackendNumericalNote_t of cudnn_graph.h of cuDNN 9.20. Those that exist have not
// changed since cuDNN 9.8.
#ifndef VRAMFIT_ABI_CUDNN_BACKEND_H
#define VRAMFIT_ABI_CUDNN_BACKEND_H

#include <cstdint>

namespace vramfit::abi::cudnn {

enum AttributeType : int32_t {
  kTypeHandle = 0,
  kTypeDataType = 1,
  kTypeBoolean = 2,
  kTypeInt64 = 3,
  kTypeFloat = 4,
  kTypeDouble = 5,
  kTypeVoidPtr = 6,
  kTypeHeurMode = 8,
  kTypeNumericalNote = 11,
  kTypeDescriptor = 15,
  kTypeChar = 24,
  kTypeFraction = 26,
  kLastType = 30
};

// Those that mean something here.
enum DescriptorType : int32_t {
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kEngineHeuristics = 4,
  kExecutionPlan = 5,
  kConvolutionForward = 10,
  kConvolutionBackwardFilter = 11,
  kConvolutionBackwardData = 12,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmulOperation = 19,
  kDeviceProperties = 38,
  kSdpaForward = 41,
  kSdpaBackward = 43,
  kLastDescriptorType = 45
};

enum NumericalNote : int32_t { kNoteTensorCore = 0, kNoteNondeterministic = 4 };

// Attribute names, by the descriptor they belong to.
inline constexpr int32_t kConvolutionDilations = 102, kConvolutionStrides = 103, kConvolutionPrePadding = 105;
inline constexpr int32_t kHeuristicsMode = 200, kHeuristicsGraph = 201, kHeuristicsResults = 202,
                         kHeuristicsDevice = 204;
inline constexpr int32_t kConfigEngine = 300, kConfigKnobs = 302, kConfigWorkspace = 303, kConfigSharedMemory = 304;
inline constexpr int32_t kPlanConfig = 401, kPlanWorkspace = 402, kPlanDevice = 407;
inline constexpr int32_t kForwardConvolution = 702, kForwardW = 703, kForwardX = 704, kForwardY = 705;
inline constexpr int32_t kDataConvolution = 708, kDataW = 709, kDataDx = 710, kDataDy = 711;
inline constexpr int32_t kFilterConvolution = 714, kFilterDw = 715, kFilterX = 716, kFilterDy = 717;
inline constexpr int32_t kGraphHandle = 800, kGraphOperations = 801, kGraphEngineCount = 802;
inline constexpr int32_t kTensorDataType = 901, kTensorDimensions = 902, kTensorStrides = 903;
inline constexpr int32_t kEngineGraph = 1300, kEngineIndex = 1301, kEngineKnobs = 1302, kEngineNumericalNote = 1303,
                         kEngineLayout = 1304, kEngineBehaviorNote = 1305;
inline constexpr int32_t kMatmulA = 1520, kMatmulB = 1521, kMatmulC = 1522;
inline constexpr int32_t kDeviceJson = 2702;
inline constexpr int32_t kSdpaForwardQ = 2800, kSdpaForwardK = 2801, kSdpaForwardV = 2802;
inline constexpr int32_t kSdpaBackwardQ = 2851, kSdpaBackwardK = 2852, kSdpaBackwardV = 2853;

}  // namespace vramfit::abi::cudnn

#endif
