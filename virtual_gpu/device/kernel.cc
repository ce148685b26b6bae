#include "virtual_gpu/device/kernel.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "virtual_gpu/device/limits.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::device {
namespace {

// Registration happens while libraries load, so it only notes; the first launch sorts.
struct Registered {
  const void* function = nullptr;
  Module* module = nullptr;
  const char* name = nullptr;  // mangled; lives as long as its library
};

struct Kernels {
  std::mutex lock;
  std::deque<Module> modules;
  std::vector<Registered> by_function;
  size_t sorted = 0;
};

Kernels& kernels() {
  static auto* const kKernels = new Kernels;  // outlives other libraries' destructors
  return *kKernels;
}

Registered find_registered(const void* function) {
  Kernels& all = kernels();
  const std::lock_guard guard(all.lock);
  if (all.sorted != all.by_function.size()) {
    std::ranges::sort(all.by_function, {}, &Registered::function);
    all.sorted = all.by_function.size();
  }
  const auto found = std::ranges::lower_bound(all.by_function, function, {}, &Registered::function);
  return found == all.by_function.end() || found->function != function ? Registered{} : *found;
}

Module* find_module(const void* function) { return find_registered(function).module; }

KernelForm form_of_mangled(const char* name) {
  if (name == nullptr) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return plain == nullptr ? KernelForm{} : form_of(plain.get());
}

// PyTorch's own kernels are what a process's first kernel was measured with (ledger::charge_kernels).
bool is_outside_pytorch(const void* data) {
  Dl_info place = {};
  if (data == nullptr || dladdr(data, &place) == 0 || place.dli_fname == nullptr) return false;
  const std::string_view path(place.dli_fname);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return !name.starts_with("libtorch") && !name.starts_with("libc10");
}

void read_module(Module& module) {
  const std::lock_guard guard(kernels().lock);
  if (module.is_read != 0) return;
  module.images = images_of(module.data);
  module.is_extension = is_outside_pytorch(module.data);
  module.is_read.store(1, std::memory_order_release);
}

}  // namespace

Module* register_module(const void* data) {
  Kernels& all = kernels();
  const std::lock_guard guard(all.lock);
  Module& module = all.modules.emplace_back();
  module.data = data;
  return &module;
}

void register_kernel(Module* module, const void* host_function, const char* name) {
  Kernels& all = kernels();
  const std::lock_guard guard(all.lock);
  all.by_function.push_back({host_function, module, name});
}

bool is_kernel(const void* host_function) { return find_registered(host_function).module != nullptr; }

KernelForm form_of_kernel(const void* host_function) {
  static std::mutex lock;
  static auto* const kForms = new std::unordered_map<const void*, KernelForm>;  // outlives other libraries' destructors
  const std::lock_guard guard(lock);
  const auto known = kForms->find(host_function);
  if (known != kForms->end()) return known->second;
  return kForms->emplace(host_function, form_of_mangled(find_registered(host_function).name)).first->second;
}

Error check_module(Module& module, int card) {
  if (module.is_read.load(std::memory_order_acquire) == 0) read_module(module);
  const vf_card* facts = ledger::card(card);
  if (facts == nullptr) return Error::kInvalidDevice;
  if (module.images.empty()) return Error::kNone;  // a format we don't know is not the card's fault
  return runs_on(module.images, facts->compute_major, facts->compute_minor) ? Error::kNone : Error::kNoKernelImage;
}

Error check_kernel(const void* host_function, int card) {
  // One launch in a thousand is of a kernel not launched a moment ago.
  struct Known {
    const void* function;
    int card;
  };
  constexpr size_t kKnown = 512;
  thread_local Known known[kKnown] = {};
  Known& slot = known[(reinterpret_cast<uintptr_t>(host_function) >> 4) % kKnown];
  if (slot.function == host_function && slot.card == card) return Error::kNone;
  Module* module = find_module(host_function);
  if (module != nullptr) {
    if (const Error error = check_module(*module, card); error != Error::kNone) return error;
    if (module->is_extension && !ledger::charge_use(card, ledger::Library::kExtension)) return Error::kOutOfMemory;
  }
  slot = {host_function, card};
  return Error::kNone;
}

Build build_of_kernel(const void* host_function, int card) {
  const vf_card* facts = ledger::card(card);
  if (facts == nullptr) return {};
  Module* module = find_module(host_function);
  if (module != nullptr && module->is_read.load(std::memory_order_acquire) == 0) read_module(*module);
  return build_for(module == nullptr ? std::vector<Image>{} : module->images, facts->compute_major,
                   facts->compute_minor);
}

// Limits of every card since compute capability 3.0 (CUDA programming guide, "Technical Specifications").
Error check_launch(const Dim& grid, const Dim& block, size_t shared_bytes, int card) {
  const vf_card* facts = ledger::card(card);
  if (facts == nullptr) return Error::kInvalidDevice;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0) {
    return Error::kInvalidConfiguration;
  }
  if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535) return Error::kInvalidConfiguration;
  if (block.x > 1024 || block.y > 1024 || block.z > 64) return Error::kInvalidConfiguration;
  if (uint64_t{block.x} * block.y * block.z > 1024) return Error::kInvalidConfiguration;
  if (shared_bytes > static_cast<size_t>(limits_of(*facts).shared_bytes_per_block_optin)) return Error::kInvalidValue;
  return Error::kNone;
}

}  // namespace vramfit::device
