#include "allocator/card_device.h"

#include <algorithm>
#include <iterator>

namespace vramfit::allocator {
namespace {

std::uint64_t whole_granules(std::uint64_t bytes) {
  return (bytes + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes;
}

}  // namespace

Holes::iterator add_hole(Holes& holes, std::uint64_t begin, std::uint64_t bytes) {
  const auto hole = holes.emplace(begin, bytes).first;
  if (const auto after = std::next(hole); after != holes.end() && hole->first + hole->second == after->first) {
    hole->second += after->second;
    holes.erase(after);
  }
  if (hole == holes.begin()) return hole;
  const auto before = std::prev(hole);
  if (before->first + before->second != hole->first) return hole;
  before->second += hole->second;
  holes.erase(hole);
  return before;
}

bool CardDevice::take(std::uint64_t bytes) {
  if (bytes > free_bytes()) return false;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return true;
}

std::uint64_t CardDevice::place(std::uint64_t bytes) {
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    if (hole->second < bytes) continue;
    const auto [begin, length] = *hole;
    holes_.erase(hole);
    if (length > bytes) holes_.emplace(begin + bytes, length - bytes);
    return begin;
  }
  const std::uint64_t begin = top_;
  top_ += bytes;
  return begin;
}

std::optional<std::uint64_t> CardDevice::allocate(std::uint64_t bytes) {
  const std::uint64_t charged = whole_granules(bytes);
  if (charged < bytes || !take(charged)) return std::nullopt;
  return place(charged);
}

void CardDevice::release(std::uint64_t address, std::uint64_t bytes) {
  give_back(whole_granules(bytes));
  unreserve(address, whole_granules(bytes));
}

std::uint64_t CardDevice::reserve(std::uint64_t bytes, std::uint64_t, StreamHandle, PoolId) { return place(bytes); }

void CardDevice::unreserve(std::uint64_t address, std::uint64_t bytes) { add_hole(holes_, address, bytes); }

bool CardDevice::map(std::uint64_t, std::uint64_t bytes, std::uint64_t) { return take(bytes); }

void CardDevice::unmap(std::uint64_t, std::uint64_t bytes, std::uint64_t) { give_back(bytes); }

}  // namespace vramfit::allocator
