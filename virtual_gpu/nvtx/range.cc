// NVTX 2 (libnvToolsExt): marks and ranges for a profiler. Nobody listens, but levels and ids are kept as they would be
// with a profiler attached, since callers may use them. Names are defaults that forget them (abi/symbols/nvtx).
#include <atomic>
#include <unordered_map>

#include "virtual_gpu/library/abi.h"

namespace vramfit::nvtx {
namespace {

constexpr int kNothingToPop = -1;  // documented: a negative value, "if an error occurs"

// What handles point to. Handles are compared and passed back, never looked into.
struct Object {};

// Open ranges of this thread, by domain; null is the default domain.
int& depth_of(const void* domain) {
  static thread_local std::unordered_map<const void*, int> depths;
  return depths[domain];
}

int push(const void* domain) { return depth_of(domain)++; }

int pop(const void* domain) {
  int& depth = depth_of(domain);
  return depth == 0 ? kNothingToPop : --depth;
}

uint64_t start() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace
}  // namespace vramfit::nvtx

namespace nvtx = vramfit::nvtx;
using nvtx::Object;

VF_ABI int nvtxRangePushEx(const void*) { return nvtx::push(nullptr); }
VF_ABI int nvtxRangePushA(const char*) { return nvtx::push(nullptr); }
VF_ABI int nvtxRangePushW(const wchar_t*) { return nvtx::push(nullptr); }
VF_ABI int nvtxRangePop() { return nvtx::pop(nullptr); }
VF_ABI int nvtxDomainRangePushEx(const Object* domain, const void*) { return nvtx::push(domain); }
VF_ABI int nvtxDomainRangePop(const Object* domain) { return nvtx::pop(domain); }

VF_ABI uint64_t nvtxRangeStartEx(const void*) { return nvtx::start(); }
VF_ABI uint64_t nvtxRangeStartA(const char*) { return nvtx::start(); }
VF_ABI uint64_t nvtxRangeStartW(const wchar_t*) { return nvtx::start(); }
VF_ABI uint64_t nvtxDomainRangeStartEx(const Object*, const void*) { return nvtx::start(); }

VF_ABI Object* nvtxDomainCreateA(const char*) { return new Object; }
VF_ABI Object* nvtxDomainCreateW(const wchar_t*) { return new Object; }
VF_ABI void nvtxDomainDestroy(Object* domain) { delete domain; }
VF_ABI Object* nvtxDomainResourceCreate(const Object*, void*) { return new Object; }
VF_ABI void nvtxDomainResourceDestroy(Object* resource) { delete resource; }
VF_ABI Object* nvtxDomainSyncUserCreate(const Object*, const void*) { return new Object; }
VF_ABI void nvtxDomainSyncUserDestroy(Object* user) { delete user; }

// A registered string has no way to be forgotten: one object stands for all.
namespace {
Object registered_string;
}
VF_ABI Object* nvtxDomainRegisterStringA(const Object*, const char*) { return &registered_string; }
VF_ABI Object* nvtxDomainRegisterStringW(const Object*, const wchar_t*) { return &registered_string; }

// The table is for profilers only: none is offered.
VF_ABI const void* nvtxGetExportTable(uint32_t) { return nullptr; }
