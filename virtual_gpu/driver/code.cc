// The code that is loaded, whoever asks.
#include "virtual_gpu/driver/code.h"

#include <mutex>

namespace vramfit::driver {

Loaded& loaded() {
  static auto* const kLoaded = new Loaded;  // outlives other libraries' destructors
  return *kLoaded;
}

void free_code(Code* code) {
  for (void* function : code->functions) {
    loaded().functions.erase(static_cast<Function*>(function));
    delete static_cast<Function*>(function);
  }
  delete code;
}

void unload_modules_of(CUcontext context) {
  const std::lock_guard guard(loaded().lock);
  std::erase_if(loaded().codes, [&](Code* code) {
    const bool is_of_it = code->context == context;
    if (is_of_it) free_code(code);
    return is_of_it;
  });
}

}  // namespace vramfit::driver
