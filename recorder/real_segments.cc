// On a real card (`--gpu real`) no stand-in reports what the driver gives, so this second preloaded library does: it
// stands before cudaMalloc and cudaFree of the dynamic libcudart that PyTorch loads, passes the call on and records the
// segment. A virtual card beside it is taken for a real one (`VRAMFIT_REAL`): its libraries tell the recorder nothing.
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "real_watch.h"
#include "vramfit/recording.h"

namespace {

using Malloc = int (*)(void**, size_t);
using Free = int (*)(void*);
using GetDevice = int (*)(int*);
using MemGetInfo = int (*)(size_t*, size_t*);
using Emit = void (*)(uint8_t, uint8_t, uint64_t, int64_t, int64_t, int64_t, const char*);

constexpr int kCudaErrorInitialization = 3;  // cudaErrorInitializationError

// Keeps the first loaded file of that name, whatever CUDA it is of. Wheels have renamed it
// (libcudart-d0da41ae.so.11.0).
int keep_cudart(dl_phdr_info* loaded, size_t /*bytes*/, void* found) {
  const std::string_view path = loaded->dlpi_name != nullptr ? loaded->dlpi_name : "";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with("libcudart") || name.find(".so") == std::string_view::npos) return 0;
  *static_cast<std::string*>(found) = path;
  return 1;
}

void* cudart() {
  std::string path;
  dl_iterate_phdr(keep_cudart, &path);
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

template <typename Function>
Function cudart_function(const char* name) {
  static void* const library = cudart();
  return library != nullptr ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

struct Segment {
  int64_t size;
  uint8_t device;
};

struct Segments {
  std::mutex lock;
  std::unordered_map<void*, Segment> live;
};

// Never destroyed: PyTorch may free memory while the process ends.
Segments& segments() {
  static auto* const all = new Segments;
  return *all;
}

// `coming`: what is asked for or given back right after the card was looked at.
void emit(uint8_t kind, void* address, const Segment& segment, int64_t coming) {
  static const auto call = reinterpret_cast<Emit>(dlsym(RTLD_DEFAULT, "vramfit_emit"));
  if (call == nullptr) return;
  static const auto mem_get_info = cudart_function<MemGetInfo>("cudaMemGetInfo");
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  const bool known = mem_get_info != nullptr && mem_get_info(&free_bytes, &total_bytes) == 0;
  call(kind, segment.device, reinterpret_cast<uint64_t>(address), segment.size,
       known ? static_cast<int64_t>(total_bytes - free_bytes) + coming : -1, 0, nullptr);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int cudaMalloc(void** address, size_t size) {
  static const auto next = cudart_function<Malloc>("cudaMalloc");
  if (next == nullptr) return kCudaErrorInitialization;
  vramfit::recorder::malloc_begins();
  const int result = next(address, size);
  if (result != 0 || address == nullptr || *address == nullptr) {
    vramfit::recorder::malloc_ends(0, 0, 0);
    return result;
  }
  static const auto get_device = cudart_function<GetDevice>("cudaGetDevice");
  int device = 0;
  if (get_device != nullptr) get_device(&device);
  const Segment segment{static_cast<int64_t>(size), static_cast<uint8_t>(device)};
  {
    const std::lock_guard guard(segments().lock);
    segments().live[*address] = segment;
  }
  vramfit::recorder::malloc_ends(device, reinterpret_cast<uint64_t>(*address), segment.size);
  emit(VF_RECORD_SEGMENT_ALLOC, *address, segment, 0);
  return result;
}

extern "C" __attribute__((visibility("default"))) int cudaFree(void* address) {
  static const auto next = cudart_function<Free>("cudaFree");
  if (next == nullptr) return kCudaErrorInitialization;
  Segment segment{0, 0};
  {
    const std::lock_guard guard(segments().lock);
    if (const auto found = segments().live.find(address); found != segments().live.end()) {
      segment = found->second;
      segments().live.erase(found);
    }
  }
  if (segment.size == 0) return next(address);
  // It is recorded before the bytes go back: another thread may be given the same address, and tell of it first.
  emit(VF_RECORD_SEGMENT_FREE, address, segment, -segment.size);
  const int result = next(address);
  vramfit::recorder::segment_freed(segment.device, reinterpret_cast<uint64_t>(address), segment.size);
  return result;
}
