#include "virtual_gpu/device/small_blocks.h"

#include "virtual_gpu/device/backing.h"

namespace vramfit::device {

uintptr_t SmallBlocks::allocate(size_t bytes) {
  bytes = round_up(bytes, kSmallAlignment);
  for (auto& [begin, spans] : granules_) {
    for (auto span = spans.begin(); span != spans.end(); ++span) {
      if (span->second < bytes) continue;
      const auto [offset, length] = *span;
      spans.erase(span);
      if (length > bytes) spans.emplace(offset + bytes, length - bytes);
      return begin + offset;
    }
  }
  return 0;
}

void SmallBlocks::add_granule(uintptr_t begin) { granules_[begin] = FreeSpans{{0, kGranularity}}; }

uintptr_t SmallBlocks::release(uintptr_t address, size_t bytes) {
  const uintptr_t granule = address / kGranularity * kGranularity;
  FreeSpans& spans = granules_.at(granule);
  auto span = spans.emplace(address - granule, round_up(bytes, kSmallAlignment)).first;
  if (const auto next = std::next(span); next != spans.end() && span->first + span->second == next->first) {
    span->second += next->second;
    spans.erase(next);
  }
  if (span != spans.begin()) {
    const auto before = std::prev(span);
    if (before->first + before->second == span->first) {
      before->second += span->second;
      spans.erase(span);
      span = before;
    }
  }
  if (span->second != kGranularity) return 0;
  granules_.erase(granule);
  return granule;
}

}  // namespace vramfit::device
