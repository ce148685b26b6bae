// Where a card's memory lies: the order in which the driver hands out addresses. PyTorch's caching allocator takes the
// lower of two free blocks that are equally large, so the order decides which one it takes, and what stays free.
//
// Native Linux: chunks of whole 32 MiB, each where the kernel finds the highest hole (so most often below the last)
//
//   third chunk             second chunk            first chunk
//   |20 MiB......|12 free|  |20 MiB.....|2|10 free|  |148 MiB ...............|12 free|
//
//   What fits into a chunk that is there goes there: newest chunk first, the lowest hole in it. A chunk nothing is left
//   in goes back to the system.
//
// WSL2 and Windows: one area, the lowest hole first, without gaps. Its first piece lies behind 80 MiB, which the driver
// holds just then and which the next pieces fill
//
//   |2|2|2|20 MiB......|2|...        |20 MiB (the first)|20 MiB......|2|...
//
// Evidence: docs/decisions/0012-addresses-and-libraries.md.
#ifndef VRAMFIT_VIRTUAL_GPU_DEVICE_ADDRESS_SPACE_H
#define VRAMFIT_VIRTUAL_GPU_DEVICE_ADDRESS_SPACE_H

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::device {

inline constexpr size_t kLinuxChunk = size_t{32} << 20;
inline constexpr size_t kWslLead = size_t{80} << 20;

// Where chunks come from: the system, or a test's own addresses.
struct AddressSource {
  uintptr_t (*reserve)(size_t bytes, size_t alignment);  // 0: no address space
  void (*release)(uintptr_t begin, size_t bytes);
};
VF_EXPORT extern const AddressSource kSystemAddresses;  // without access until somebody makes it accessible

// The addresses of one card. Not thread-safe.
class VF_EXPORT AddressSpace {
 public:
  // `chunk_bytes` is what chunks are multiples of: kLinuxChunk, or all that a packed order will ever need. What a chunk
  // is made for lies `lead_bytes` behind its beginning.
  AddressSpace(size_t chunk_bytes, size_t lead_bytes, const AddressSource& source)
      : chunk_bytes_(chunk_bytes), lead_bytes_(lead_bytes), source_(&source) {}

  // `bytes` are whole granules of 2 MiB. 0: no address space.
  uintptr_t take(size_t bytes);
  // What take() answered, with the same size.
  void give_back(uintptr_t begin, size_t bytes);

 private:
  struct Chunk {
    uintptr_t begin = 0;
    size_t bytes = 0;
    std::map<uintptr_t, size_t> used;  // begin -> bytes
  };
  static uintptr_t find_hole(const Chunk& chunk, size_t bytes);

  size_t chunk_bytes_, lead_bytes_;
  const AddressSource* source_;
  std::list<Chunk> chunks_;  // newest first
};

}  // namespace vramfit::device

#endif
