// PyTorch's caching allocator reports every block it hands out and takes back, and every OOM it raises, to two
// functions of libc10.so that serve its profiler. libc10_cuda.so calls them through its PLT, so these definitions,
// preloaded, come first. They record device blocks and pass the call on. Signatures: c10/core/Allocator.h and
// c10/core/Device.h, unchanged from PyTorch 1.8 (OOM: 1.10) to 2.12.
#include <dlfcn.h>
#include <vramfit/c10_names.h>

#include <atomic>
#include <cstdint>

#include "block_listener.h"
#include "kernel_tally.h"
#include "memory_gauge.h"
#include "real_watch.h"
#include "recorder.h"
#include "rise_watch.h"

namespace c10 {

struct Device {
  int8_t type;   // c10::DeviceType: 0 = CPU, 1 = CUDA
  int8_t index;  // -1 = the current one; the CUDA allocator always gives it
};

__attribute__((visibility("default"))) void reportMemoryUsageToProfiler(void* block, int64_t size, size_t allocated,
                                                                        size_t reserved, Device device);
__attribute__((visibility("default"))) void reportOutOfMemoryToProfiler(int64_t size, size_t allocated, size_t reserved,
                                                                        Device device);

}  // namespace c10

namespace vramfit::recorder {
namespace {

constexpr int8_t kCuda = 1;

constinit std::atomic<vramfit_block_listener> listener{nullptr};

// libc10.so is loaded by a dlopen of Python's without RTLD_GLOBAL, so RTLD_NEXT doesn't see it.
void* c10_function(const char* name) {
  void* library = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  return library != nullptr ? dlsym(library, name) : nullptr;
}

vf_record block_record(uint8_t kind, uint64_t address, int64_t size, size_t allocated, size_t reserved, int8_t device) {
  vf_record record{};
  record.kind = kind;
  record.device = static_cast<uint8_t>(device);
  record.address = address;
  record.size = size;
  record.a = static_cast<int64_t>(allocated);
  record.b = static_cast<int64_t>(reserved);
  return record;
}

void on_block(void* block, int64_t size, size_t allocated, size_t reserved, int8_t device) {
  const auto address = reinterpret_cast<uint64_t>(block);
  set_gauge(static_cast<uint32_t>(device), allocated, reserved);
  if (size > 0) {
    if (const vramfit_block_listener call = listener.load(std::memory_order_acquire)) call(address, size);
  }
  Recorder* recorder = vramfit::recorder::recorder();
  if (recorder == nullptr || size == 0) return;
  static const auto look = reinterpret_cast<RealBlock>(dlsym(RTLD_DEFAULT, kRealBlock));
  if (look != nullptr) look(static_cast<uint32_t>(device), static_cast<int64_t>(reserved));
  const bool alloc = size > 0;
  if (alloc) {
    live_blocks().add(address, size);
  } else {
    live_blocks().remove(address);
  }
  recorder->add(block_record(alloc ? VF_RECORD_BLOCK_ALLOC : VF_RECORD_BLOCK_FREE, address, alloc ? size : -size,
                             allocated, reserved, device),
                alloc ? Recorder::Line::kFind : Recorder::Line::kNone);
  if (alloc) rises_to(allocated);
}

}  // namespace

void look_at_real_cards() {
  static const auto look = reinterpret_cast<RealMoment>(dlsym(RTLD_DEFAULT, kRealMoment));
  if (look != nullptr) look();
}

void set_block_listener(vramfit_block_listener next) { listener.store(next, std::memory_order_release); }
vramfit_block_listener block_listener() { return listener.load(std::memory_order_acquire); }

}  // namespace vramfit::recorder

namespace c10 {

void reportMemoryUsageToProfiler(void* block, int64_t size, size_t allocated, size_t reserved, Device device) {
  using Function = void (*)(void*, int64_t, size_t, size_t, Device);
  static const auto next = reinterpret_cast<Function>(vramfit::recorder::c10_function(VF_C10_REPORT_MEMORY_USAGE));
  if (device.type == vramfit::recorder::kCuda) {
    vramfit::recorder::on_block(block, size, allocated, reserved, device.index);
  }
  if (next != nullptr) next(block, size, allocated, reserved, device);
}

void reportOutOfMemoryToProfiler(int64_t size, size_t allocated, size_t reserved, Device device) {
  using Function = void (*)(int64_t, size_t, size_t, Device);
  static const auto next = reinterpret_cast<Function>(vramfit::recorder::c10_function(VF_C10_REPORT_OUT_OF_MEMORY));
  if (device.type == vramfit::recorder::kCuda) {
    if (vramfit::recorder::Recorder* recorder = vramfit::recorder::recorder()) {
      vramfit::recorder::look_at_real_cards();
      recorder->add(vramfit::recorder::block_record(VF_RECORD_OOM, 0, size, allocated, reserved, device.index),
                    vramfit::recorder::Recorder::Line::kFind);
    }
  }
  if (next != nullptr) next(size, allocated, reserved, device);
}

}  // namespace c10
