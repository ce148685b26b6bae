#include "kernel_tally.h"

#include <algorithm>
#include <bit>
#include <ranges>

namespace vramfit::recorder {

void LiveBlocks::add(uint64_t address, int64_t size) {
  const std::lock_guard guard(lock_);
  size_by_address_[address] = size;
}

void LiveBlocks::remove(uint64_t address) {
  const std::lock_guard guard(lock_);
  size_by_address_.erase(address);
}

int64_t LiveBlocks::bytes_behind(uint64_t address) const {
  const std::lock_guard guard(lock_);
  auto after = size_by_address_.upper_bound(address);
  if (after == size_by_address_.begin()) return 0;
  --after;
  const uint64_t offset = address - after->first, size = static_cast<uint64_t>(after->second);
  return offset < size ? static_cast<int64_t>(size - offset) : 0;
}

KernelPass pass_of(std::span<const uint64_t> pointers, const KernelMemory& memory, const LiveBlocks& blocks) {
  int64_t total = memory.bytes, largest = 0, second = 0;
  for (const uint64_t pointer : pointers) {
    int64_t bytes = blocks.bytes_behind(pointer);
    if (memory.most_each > 0) bytes = std::min(bytes, memory.most_each);
    total += bytes;
    second = std::max(second, std::min(bytes, largest));
    largest = std::max(largest, bytes);
  }
  const bool is_gather = memory.picks_rows && second > 0;
  const int64_t bytes = is_gather ? total - largest + second : total;
  if (memory.one_by_one_bytes <= 0) return {bytes, 0};
  return {bytes, ((is_gather ? second : largest) + memory.bytes / 2) / memory.one_by_one_bytes};
}

void KernelTally::add(Recorder& recorder, uint8_t device, std::span<const uint64_t> pointers,
                      const KernelMemory& memory) {
  const KernelPass pass = pass_of(pointers, memory, live_blocks());
  const std::lock_guard guard(lock_);
  if (device != device_) flush_locked(recorder);
  device_ = device;
  auto& sizes = sizes_[pass.elements > 0 ? 1 : 0];
  Size& size = sizes[std::bit_width(static_cast<uint64_t>(pass.bytes)) % sizes.size()];
  ++size.launches;
  size.bytes += pass.bytes;
  size.elements += pass.elements;
}

void KernelTally::flush(Recorder& recorder) {
  const std::lock_guard guard(lock_);
  flush_locked(recorder);
}

void KernelTally::flush_locked(Recorder& recorder) {
  for (Size& size : std::views::join(sizes_)) {
    if (size.launches == 0) continue;
    vf_record record{};
    record.kind = VF_RECORD_LAUNCHES;
    record.device = device_;
    record.a = size.launches;
    record.b = size.bytes;
    record.size = size.elements;
    recorder.add(record, Recorder::Line::kNone);
    size = {};
  }
}

void KernelTally::before_fork() {
  lock_.lock();
  live_blocks().lock();
}

void KernelTally::after_fork(bool in_child) {
  if (in_child) sizes_ = {};
  live_blocks().unlock();
  lock_.unlock();
}

// Never destroyed: launches may follow from other libraries' destructors.
LiveBlocks& live_blocks() {
  static auto* const kBlocks = new LiveBlocks;
  return *kBlocks;
}

KernelTally& kernel_tally() {
  static auto* const kTally = new KernelTally;
  return *kTally;
}

}  // namespace vramfit::recorder
