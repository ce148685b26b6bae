#include "allocator/free_list.h"

#include <algorithm>
#include <utility>

namespace vramfit::allocator {

FreeList::Cursor FreeList::last() const {
  for (std::size_t word = used_.size(); word-- > 0;) {
    if (used_[word] == 0) continue;
    const auto found =
        static_cast<std::uint32_t>(word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(used_[word])));
    const Bin& bin = bins_[found];
    const auto chunk = static_cast<std::uint32_t>(bin.chunks.size() - 1);
    return {found, chunk, bin.chunks[chunk]->count - 1};
  }
  return {};
}

FreeList::Cursor FreeList::next(Cursor at) const {
  const Bin& bin = bins_[at.size_class];
  if (at.index + 1 < bin.chunks[at.chunk]->count) return {at.size_class, at.chunk, at.index + 1};
  if (at.chunk + 1 < bin.chunks.size()) return {at.size_class, at.chunk + 1, 0};
  return from_class(at.size_class + 1);
}

FreeList::Cursor FreeList::previous(Cursor at) const {
  if (at.is_end()) return last();
  if (at.index > 0) return {at.size_class, at.chunk, at.index - 1};
  if (at.chunk > 0) return {at.size_class, at.chunk - 1, bins_[at.size_class].chunks[at.chunk - 1]->count - 1};
  for (std::uint32_t size_class = at.size_class; size_class-- > 0;) {
    const std::uint64_t bits = used_[size_class / 64] & (~std::uint64_t{0} >> (63 - size_class % 64));
    if (bits == 0) {
      size_class = size_class / 64 * 64;
      continue;
    }
    const auto found =
        static_cast<std::uint32_t>(size_class / 64 * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(bits)));
    const auto chunk = static_cast<std::uint32_t>(bins_[found].chunks.size() - 1);
    return {found, chunk, bins_[found].chunks[chunk]->count - 1};
  }
  return {};
}

void FreeList::split_chunk(Bin& bin, std::uint32_t index) {
  auto upper = std::make_unique<Chunk>();
  Chunk& lower = *bin.chunks[index];
  constexpr std::size_t kHalf = kChunk / 2;
  std::copy(lower.entries.begin() + kHalf, lower.entries.end(), upper->entries.begin());
  upper->count = kChunk - kHalf;
  lower.count = kHalf;
  bin.chunks.insert(bin.chunks.begin() + index + 1, std::move(upper));
}

}  // namespace vramfit::allocator
