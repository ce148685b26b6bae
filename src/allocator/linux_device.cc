#include "allocator/linux_device.h"

namespace vramfit::allocator {
namespace {

constexpr std::uint64_t kChunk = 32 << 20;

constexpr std::uint64_t whole(std::uint64_t bytes, std::uint64_t of) { return (bytes + of - 1) / of * of; }

}  // namespace

std::uint64_t LinuxDevice::find_hole(const Chunk& chunk, std::uint64_t bytes) {
  std::uint64_t at = chunk.begin;
  for (const auto& [begin, length] : chunk.used) {
    if (begin - at >= bytes) return at;
    at = begin + length;
  }
  return chunk.begin + chunk.bytes - at >= bytes ? at : 0;
}

std::uint64_t LinuxDevice::place_chunk(std::uint64_t bytes) {
  for (auto hole = free_.rbegin(); hole != free_.rend(); ++hole) {
    if (hole->second < bytes + kChunk) continue;  // the driver asks for so much more, to align what it keeps
    hole->second -= bytes;
    return hole->first + hole->second;
  }
  return lowest_ -= bytes;
}

std::optional<std::uint64_t> LinuxDevice::allocate(std::uint64_t bytes) {
  const std::uint64_t charged = whole(bytes, kGranuleBytes);
  if (charged < bytes || !take(charged)) return std::nullopt;
  for (Chunk& chunk : chunks_) {
    if (const std::uint64_t hole = find_hole(chunk, charged); hole != 0) {
      chunk.used[hole] = charged;
      return hole;
    }
  }
  const std::uint64_t chunk_bytes = whole(charged, kChunk);
  const std::uint64_t begin = place_chunk(chunk_bytes);
  chunks_.push_front({begin, chunk_bytes, {{begin, charged}}});
  return begin;
}

void LinuxDevice::leave_chunk(const Chunk& chunk) {
  const auto hole = add_hole(free_, chunk.begin, chunk.bytes);
  if (hole->first == lowest_) {
    lowest_ += hole->second;
    free_.erase(hole);
  }
}

void LinuxDevice::release(std::uint64_t address, std::uint64_t bytes) {
  give_back(whole(bytes, kGranuleBytes));
  for (auto chunk = chunks_.begin(); chunk != chunks_.end(); ++chunk) {
    if (chunk->used.erase(address) == 0) continue;
    if (!chunk->used.empty()) return;
    leave_chunk(*chunk);
    chunks_.erase(chunk);
    return;
  }
}

}  // namespace vramfit::allocator
