#include "virtual_gpu/device/address_space.h"

#include "virtual_gpu/device/backing.h"

namespace vramfit::device {

const AddressSource kSystemAddresses = {
    [](size_t bytes, size_t alignment) {
      return reinterpret_cast<uintptr_t>(reserve_addresses(bytes, alignment, nullptr));
    },
    [](uintptr_t begin, size_t bytes) { unmap(reinterpret_cast<void*>(begin), bytes); }};

uintptr_t AddressSpace::find_hole(const Chunk& chunk, size_t bytes) {
  uintptr_t at = chunk.begin;
  for (const auto& [begin, length] : chunk.used) {
    if (begin - at >= bytes) return at;
    at = begin + length;
  }
  return chunk.begin + chunk.bytes - at >= bytes ? at : 0;
}

uintptr_t AddressSpace::take(size_t bytes) {
  for (Chunk& chunk : chunks_) {
    const uintptr_t hole = find_hole(chunk, bytes);
    if (hole == 0) continue;
    chunk.used[hole] = bytes;
    return hole;
  }
  const size_t chunk_bytes = round_up(lead_bytes_ + bytes, chunk_bytes_);
  const uintptr_t begin = source_->reserve(chunk_bytes, kLinuxChunk);
  if (begin == 0) return 0;
  const uintptr_t first = begin + lead_bytes_;
  chunks_.push_front(Chunk{.begin = begin, .bytes = chunk_bytes, .used = {{first, bytes}}});
  return first;
}

void AddressSpace::give_back(uintptr_t begin, size_t bytes) {
  for (auto chunk = chunks_.begin(); chunk != chunks_.end(); ++chunk) {
    const auto found = chunk->used.find(begin);
    if (found == chunk->used.end() || found->second != bytes) continue;
    chunk->used.erase(found);
    if (!chunk->used.empty()) return;
    source_->release(chunk->begin, chunk->bytes);
    chunks_.erase(chunk);
    return;
  }
}

}  // namespace vramfit::device
