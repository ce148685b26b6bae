// A card whose addresses are those that another driver gave, so that a recorded program can be followed exactly: the
// order of blocks depends on them. Whether there is room is still this card's own decision.
#ifndef VRAMFIT_ALLOCATOR_RECORDED_DEVICE_H
#define VRAMFIT_ALLOCATOR_RECORDED_DEVICE_H

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "allocator/card_device.h"

namespace vramfit::allocator {

struct RecordedAddresses {
  std::deque<std::uint64_t> mallocs;  // what cudaMalloc answered, in order
  // The places of expandable segments, by stream, page size and pool; by the default pool where none is known.
  std::map<std::tuple<StreamHandle, std::uint64_t, PoolId>, std::deque<std::uint64_t>> reserved;
};

class RecordedDevice : public CardDevice {
 public:
  RecordedDevice(std::uint64_t total_bytes, std::uint64_t taken_bytes, RecordedAddresses addresses = {})
      : CardDevice(total_bytes, taken_bytes), addresses_(std::move(addresses)) {}

  std::optional<std::uint64_t> allocate(std::uint64_t bytes) override {
    if (addresses_.mallocs.empty()) return CardDevice::allocate(bytes);
    if (!take(bytes)) return std::nullopt;
    const std::uint64_t address = addresses_.mallocs.front();
    addresses_.mallocs.pop_front();
    return address;
  }
  std::uint64_t reserve(std::uint64_t bytes, std::uint64_t page_bytes, StreamHandle stream, PoolId pool) override {
    if (addresses_.reserved[{stream, page_bytes, pool}].empty()) pool = {};
    auto& known = addresses_.reserved[{stream, page_bytes, pool}];
    if (known.empty()) return CardDevice::reserve(bytes, page_bytes, stream, pool);
    const std::uint64_t address = known.front();
    known.pop_front();
    return address;
  }
  // Recorded addresses are not given a second time unless the record says so.
  void release(std::uint64_t, std::uint64_t bytes) override { give_back(bytes); }
  void unreserve(std::uint64_t, std::uint64_t) override {}

  RecordedAddresses& addresses() { return addresses_; }

 private:
  RecordedAddresses addresses_;
};

}  // namespace vramfit::allocator

#endif
