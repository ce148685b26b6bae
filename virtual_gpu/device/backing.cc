#include "virtual_gpu/device/backing.h"

#include <sys/mman.h>

#include <cstring>

namespace vramfit::device {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kWorthReturning = 64 << 10;  // below it a system call costs more than writing zeros

// No huge pages: one touched byte must not cost 2 MiB. Nobody wants device memory in a core dump.
void advise(void* address, size_t bytes) {
  madvise(address, bytes, MADV_NOHUGEPAGE);
  madvise(address, bytes, MADV_DONTDUMP);
}

// The kernel answers the highest hole: the highest multiple of `alignment` in it is taken, so that what comes next lies
// right below.
void* map_aligned(size_t bytes, size_t alignment, int protection, void* hint) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  bytes = round_up(bytes, kPage);
  if (bytes > SIZE_MAX - alignment) return nullptr;
  const size_t slack = alignment > kPage ? alignment : 0;
  void* raw = mmap(hint, bytes + slack, protection, kFlags, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = slack == 0 ? begin : (begin + slack) / alignment * alignment;
  if (aligned > begin) munmap(raw, aligned - begin);
  const size_t tail = begin + bytes + slack - (aligned + bytes);
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  return reinterpret_cast<void*>(aligned);
}

}  // namespace

void* map_lazily(size_t bytes, size_t alignment) {
  void* address = map_aligned(bytes, alignment, PROT_READ | PROT_WRITE, nullptr);
  if (address != nullptr) advise(address, round_up(bytes, kPage));
  return address;
}

// PROT_NONE is never counted as memory in use, so 9/8 of an 80 GB card can be reserved on a small machine.
void* reserve_addresses(size_t bytes, size_t alignment, void* hint) {
  void* address = map_aligned(bytes, alignment < kGranularity ? kGranularity : alignment, PROT_NONE, hint);
  if (address != nullptr) advise(address, bytes);
  return address;
}

bool make_accessible(void* address, size_t bytes) { return mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0; }

void expect_all_written(void* address, size_t bytes) { madvise(address, bytes, MADV_HUGEPAGE); }

bool make_inaccessible(void* address, size_t bytes) {
  madvise(address, bytes, MADV_DONTNEED);
  return mprotect(address, bytes, PROT_NONE) == 0;
}

void unmap(void* address, size_t bytes) { munmap(address, round_up(bytes, kPage)); }

void zero(uintptr_t begin, uintptr_t end) {
  const uintptr_t first_page = round_up(begin, kPage);
  const uintptr_t last_page = end / kPage * kPage;
  if (last_page <= first_page || last_page - first_page < kWorthReturning) {
    std::memset(reinterpret_cast<void*>(begin), 0, end - begin);
    return;
  }
  madvise(reinterpret_cast<void*>(first_page), last_page - first_page, MADV_DONTNEED);
  std::memset(reinterpret_cast<void*>(begin), 0, first_page - begin);
  std::memset(reinterpret_cast<void*>(last_page), 0, end - last_page);
}

}  // namespace vramfit::device
