// The part of cuDNN's backend API that the oracle calls, bound at run time from the user's own libcudnn_graph.so.9.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "abi/cudnn_backend.h"

namespace vramfit::cudnn_oracle {

using Handle = void*;  // cudnnBackendDescriptor_t

using namespace abi::cudnn;  // NOLINT: the numbers are this namespace's vocabulary
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
