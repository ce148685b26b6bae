// Which bytes of device memory hold something other than zeros. Kernels write nothing, so these are the bytes that host
// copies and fills brought in; everything else reads as zeros and costs nothing.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_WRITTEN_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_WRITTEN_H

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

struct Span {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool operator==(const Span&) const = default;
};

// A set of addresses as disjoint, non-adjacent spans. Thread-safe.
class VF_EXPORT WrittenBytes {
 public:
  void add(Span span);
  // Removes `span` from the set and returns the parts that were in it, in order.
  std::vector<Span> remove(Span span);
  [[nodiscard]] std::vector<Span> inside(Span span) const;

 private:
  mutable std::mutex lock_;
  std::map<uintptr_t, uintptr_t> end_by_begin_;
};

}  // namespace vramfit::device

#endif
