// The part of cuDNN's backend API that the oracle calls, bound at run time from the user's own libcudnn_graph.so.9.
// Values from cudnn_graph.h of cuDNN 9.20; they have not changed since cuDNN 9.8, the first that answers without a
// device.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

namespace vramfit::cudnn_oracle {

using Handle = void*;  // cudnnBackendDescriptor_t

constexpr int32_t kTypeHandle = 0, kTypeInt64 = 3, kTypeHeurMode = 8, kTypeNumericalNote = 11, kTypeDescriptor = 15,
                  kTypeChar = 24;
constexpr int32_t kEngineDescriptor = 2, kEngineConfigDescriptor = 3, kEngineHeurDescriptor = 4,
                  kExecutionPlanDescriptor = 5, kOperationGraphDescriptor = 15, kDevicePropDescriptor = 38;
constexpr int32_t kHeurMode = 200, kHeurGraph = 201, kHeurResults = 202, kHeurDeviceProp = 204;
constexpr int32_t kConfigEngine = 300;
constexpr int32_t kPlanConfig = 401, kPlanWorkspace = 402, kPlanDeviceProp = 407;
constexpr int32_t kEngineIndex = 1301, kEngineNumericalNote = 1303;
constexpr int32_t kDevicePropJson = 2702;
constexpr int64_t kFirstDevicelessVersion = 90800;

struct Backend {
  size_t (*version)() = nullptr;
  void (*last_error)(char*, size_t) = nullptr;
  int (*create)(int32_t, Handle*) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*finalize)(Handle) = nullptr;
  int (*set)(Handle, int32_t, int32_t, int64_t, const void*) = nullptr;
  int (*get)(Handle, int32_t, int32_t, int64_t, int64_t*, void*) = nullptr;

  std::string last_error_text() const;
};

// Opens FOLDER/libcudnn_graph.so.9. The error says what is missing.
std::expected<Backend, std::string> open_backend(const std::string& folder);

}  // namespace vramfit::cudnn_oracle
