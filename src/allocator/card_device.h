// A card of so many bytes. Addresses are given from the lowest free one upwards.
#ifndef VRAMFIT_ALLOCATOR_CARD_DEVICE_H
#define VRAMFIT_ALLOCATOR_CARD_DEVICE_H

#include <cstdint>
#include <map>
#include <optional>

#include "allocator/device.h"

namespace vramfit::allocator {

// Physical memory comes in granules of 2 MiB (cuMemGetAllocationGranularity on every card since Pascal). Every segment
// of the allocator is a multiple of it.
inline constexpr std::uint64_t kGranuleBytes = 2 << 20;

using Holes = std::map<std::uint64_t, std::uint64_t>;  // begin -> bytes; no two touch
// One more, joined with those beside it: what became of them.
Holes::iterator add_hole(Holes& holes, std::uint64_t begin, std::uint64_t bytes);

class CardDevice : public Device {
 public:
  // `taken`: what others hold of the card (contexts, libraries, other processes).
  explicit CardDevice(std::uint64_t total_bytes, std::uint64_t taken_bytes = 0)
      : total_(total_bytes), used_(taken_bytes) {}

  std::uint64_t total_bytes() const override { return total_; }
  void adopt(std::uint64_t bytes) override { used_ += bytes; }
  std::uint64_t free_bytes() const override { return total_ > used_ ? total_ - used_ : 0; }
  std::optional<std::uint64_t> allocate(std::uint64_t bytes) override;
  void release(std::uint64_t address, std::uint64_t bytes) override;
  std::uint64_t reserve(std::uint64_t bytes, std::uint64_t page_bytes, StreamHandle stream, PoolId pool) override;
  void unreserve(std::uint64_t address, std::uint64_t bytes) override;
  bool map(std::uint64_t address, std::uint64_t bytes, std::uint64_t page_bytes) override;
  void unmap(std::uint64_t address, std::uint64_t bytes, std::uint64_t page_bytes) override;

  std::uint64_t peak_used_bytes() const { return peak_; }
  std::uint64_t used_bytes() const { return used_; }

 protected:
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { used_ -= bytes; }

 private:
  std::uint64_t place(std::uint64_t bytes);

  std::uint64_t total_;
  std::uint64_t used_;
  std::uint64_t peak_ = 0;
  std::uint64_t top_ = std::uint64_t{1} << 50;  // where nothing was ever given, above what any driver gives
  Holes holes_;                                 // below top_
};

}  // namespace vramfit::allocator

#endif
