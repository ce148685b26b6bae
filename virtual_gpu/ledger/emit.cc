// The recorder, when one is loaded. It is found by name, so that neither library needs the other.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "virtual_gpu/device/kernel_arguments.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::ledger {

namespace {

// A function of the recorder; none of them where this card stands in for a real one (`--gpu real` within a run on a
// virtual card), whose libraries tell nothing.
void* recorders(const char* name) {
  const char* real = std::getenv("VRAMFIT_REAL");
  return real != nullptr && std::strcmp(real, "1") == 0 ? nullptr : dlsym(RTLD_DEFAULT, name);
}

}  // namespace

void emit(uint8_t kind, int ordinal, uint64_t address, int64_t size, int64_t a, int64_t b, const char* text) {
  using Emit = void (*)(uint8_t, uint8_t, uint64_t, int64_t, int64_t, int64_t, const char*);
  static const auto kEmit = reinterpret_cast<Emit>(recorders("vramfit_emit"));
  if (kEmit == nullptr) return;
  const int index = index_in_ledger(ordinal);
  kEmit(kind, static_cast<uint8_t>(index < 0 ? 255 : index), address, size, a, b, text);
}

namespace {

using Kernel = void (*)(uint8_t, const uint64_t*, uint32_t, int64_t, int64_t, int, uint32_t);

Kernel recorders_kernel() {
  static const auto kKernel = reinterpret_cast<Kernel>(recorders("vramfit_kernel"));
  return kKernel;
}

}  // namespace

bool is_recorded() { return recorders_kernel() != nullptr; }

void tell_kernel(int ordinal, const device::Touched& touched) {
  const Kernel tell = recorders_kernel();
  const int index = index_in_ledger(ordinal);
  if (tell == nullptr || index < 0) return;
  tell(static_cast<uint8_t>(index), touched.pointers.data(), touched.count, touched.most_each, touched.bytes,
       touched.picks_rows ? 1 : 0, touched.one_by_one_bytes);
}

}  // namespace vramfit::ledger
