// A card whose addresses come in the order of native Linux' driver, as the virtual GPU hands them out
// (docs/decisions/0012): PyTorch's allocator takes the lower of two free blocks that are equally large.
//
//   third chunk             second chunk            first chunk
//   |20 MiB......|12 free|  |20 MiB.....|2|10 free|  |148 MiB ...............|12 free|
//
// Chunks of whole 32 MiB, each in the highest hole that has 32 MiB to spare; what fits into one that is there goes
// there, the newest first, the lowest hole in it. Nothing else of the process lies between them here.
#ifndef VRAMFIT_ALLOCATOR_LINUX_DEVICE_H
#define VRAMFIT_ALLOCATOR_LINUX_DEVICE_H

#include <cstdint>
#include <list>
#include <map>
#include <optional>

#include "allocator/card_device.h"

namespace vramfit::allocator {

class LinuxDevice : public CardDevice {
 public:
  using CardDevice::CardDevice;

  std::optional<std::uint64_t> allocate(std::uint64_t bytes) override;
  void release(std::uint64_t address, std::uint64_t bytes) override;

 private:
  struct Chunk {
    std::uint64_t begin = 0, bytes = 0;
    std::map<std::uint64_t, std::uint64_t> used;  // begin -> bytes
  };
  static std::uint64_t find_hole(const Chunk& chunk, std::uint64_t bytes);
  std::uint64_t place_chunk(std::uint64_t bytes);
  void leave_chunk(const Chunk& chunk);

  std::list<Chunk> chunks_;                        // newest first
  Holes free_;                                     // between chunks
  std::uint64_t lowest_ = std::uint64_t{1} << 46;  // below it nothing was ever given
};

}  // namespace vramfit::allocator

#endif
