#include "backend.h"

#include <dlfcn.h>

namespace vramfit::cudnn_oracle {
namespace {

template <typename F>
bool bind(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string Backend::last_error_text() const {
  char text[1024] = {};
  last_error(text, sizeof text);
  return text;
}

std::expected<Backend, std::string> open_backend(const std::string& folder) {
  const std::string path = folder + "/libcudnn_graph.so.9";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return std::unexpected(std::string(dlerror()));
  Backend backend;
  const bool whole = bind(library, "cudnnGetVersion", backend.version) &&
                     bind(library, "cudnnGetLastErrorString", backend.last_error) &&
                     bind(library, "cudnnBackendCreateDescriptor", backend.create) &&
                     bind(library, "cudnnBackendDestroyDescriptor", backend.destroy) &&
                     bind(library, "cudnnBackendFinalize", backend.finalize) &&
                     bind(library, "cudnnBackendSetAttribute", backend.set) &&
                     bind(library, "cudnnBackendGetAttribute", backend.get);
  if (!whole) return std::unexpected(path + ": not a cuDNN 9 graph library (a backend function is missing)");
  if (static_cast<int64_t>(backend.version()) < kFirstDevicelessVersion) {
    return std::unexpected("cuDNN " + std::to_string(backend.version()) +
                           " answers only on a real device; 9.8 is the first that doesn't need one");
  }
  return backend;
}

}  // namespace vramfit::cudnn_oracle
