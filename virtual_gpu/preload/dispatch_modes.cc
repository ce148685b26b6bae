// Our dispatch modes (python/vramfit/values) stay unseen by PyTorch's operators and derivatives. Where any mode is
// active these take other ways, out of place, because its tensors may be without memory of their own: take_backward
// puts into a new tensor, cumprod_backward works column by column. Ours hands on plain tensors, and what is measured is
// the memory of a job without it. Whoever dispatches to modes is told the truth: libtorch_python.so.
#include <dlfcn.h>
#include <link.h>
#include <vramfit/c10_names.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "virtual_gpu/ledger/export.h"
#include "vramfit/hook_functions.h"

namespace {

// libc10.so is loaded by a dlopen of Python's without RTLD_GLOBAL, so RTLD_NEXT doesn't see it.
template <class Function>
Function c10_function(const char* name) {
  void* library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

// A PyObject, as far as it is the same in every CPython with a global lock.
struct Object {
  ptrdiff_t references;
  const void* type;
};

// c10::SafePyObject: what an entry of the stack points to (c10/core/SafePyObject.h, unchanged from PyTorch 2.0
// to 2.12).
struct Entry {
  const Object* mode;
  const void* interpreter;
};

// c10::impl::TorchDispatchModeTLS: the modes of the calling thread. Its entries are std::shared_ptr, whose first word
// is the pointer.
struct Stack {
  int64_t (*length)() = c10_function<int64_t (*)()>(VF_C10_MODE_STACK_LENGTH);
  Entry* const& (*at)(int64_t) = c10_function<Entry* const& (*)(int64_t)>(VF_C10_MODE_STACK_AT);

  [[nodiscard]] bool is_there() const { return length != nullptr && at != nullptr; }
};

const Stack& stack() {
  static const Stack kStack;
  return kStack;
}

// Two classes there are, of followed and of computed values.
std::array<std::atomic<const void*>, 2> own_classes{};

bool is_own(const void* type) {
  for (const auto& own : own_classes)
    if (own.load(std::memory_order_acquire) == type) return true;
  return false;
}

bool all_are_own() {
  for (int64_t i = 0, end = stack().length(); i < end; ++i)
    if (!is_own(stack().at(i)->mode->type)) return false;
  return true;
}

struct Extent {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

int find_dispatcher(dl_phdr_info* library, size_t, void* found) {
  if (!std::string_view(library->dlpi_name).ends_with("/libtorch_python.so")) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    const uintptr_t begin = library->dlpi_addr + part.p_vaddr;
    *static_cast<Extent*>(found) = {begin, begin + part.p_memsz};
  }
  return 1;
}

// The extent of the code of libtorch_python.so.
const Extent& dispatcher() {
  static const Extent kFound = [] {
    Extent found;
    dl_iterate_phdr(find_dispatcher, &found);
    return found;
  }();
  return kFound;
}

}  // namespace

extern "C" {

// From here on modes of this class, which `mode` is of, are ours. 0 where this PyTorch or Python is made otherwise: the
// calling thread has entered `mode`, which therefore must be found on its stack.
VF_EXPORT int vramfit_own_dispatch_mode(const void* mode, const void* type) {
  if (!stack().is_there() || dispatcher().end == 0) return 0;
  bool is_entered = false;
  for (int64_t i = 0, end = stack().length(); i < end; ++i) {
    const Entry* entry = stack().at(i);
    is_entered = is_entered || (entry->mode == mode && entry->mode->type == type);
  }
  if (!is_entered) return 0;
  for (auto& own : own_classes) {
    const void* free = nullptr;
    if (own.compare_exchange_strong(free, type, std::memory_order_acq_rel) || free == type) return 1;
  }
  return 0;
}
}

namespace c10::impl {

VF_EXPORT bool dispatch_mode_enabled();

bool dispatch_mode_enabled() {
  static const auto kReal = c10_function<bool (*)()>(VF_C10_DISPATCH_MODE_ENABLED);
  if (!kReal()) return false;
  if (own_classes.front().load(std::memory_order_acquire) == nullptr) return true;
  const auto caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  if (caller >= dispatcher().begin && caller < dispatcher().end) return true;
  return !all_are_own();
}

}  // namespace c10::impl
