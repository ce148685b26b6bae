#include "allocator/free_list.h"

#include <algorithm>
#include <utility>

namespace vramfit::allocator {

FreeList::Cursor FreeList::last() const { return previous({nullptr, kClasses, 0, 0}); }

FreeList::Cursor FreeList::next(Cursor at) const {
  const Bin& bin = bins_[at.size_class];
  if (at.index + 1 < at.chunk->count) return {at.chunk, at.size_class, at.ordinal, at.index + 1};
  if (at.ordinal + 1 < bin.count()) return {bin.at(at.ordinal + 1), at.size_class, at.ordinal + 1, 0};
  return from_class(at.size_class + 1);
}

FreeList::Cursor FreeList::previous(Cursor at) const {
  const auto last_of = [&](std::uint32_t size_class, std::uint32_t ordinal) -> Cursor {
    const Chunk* const chunk = bins_[size_class].at(ordinal);
    return {chunk, size_class, ordinal, chunk->count - 1};
  };
  if (!at.is_end() && at.index > 0) return {at.chunk, at.size_class, at.ordinal, at.index - 1};
  if (!at.is_end() && at.ordinal > 0) return last_of(at.size_class, at.ordinal - 1);
  for (std::uint32_t size_class = at.is_end() ? kClasses : at.size_class; size_class-- > 0;) {
    const std::uint64_t bits = used_[size_class / 64] & (~std::uint64_t{0} >> (63 - size_class % 64));
    if (bits == 0) {
      size_class = size_class / 64 * 64;
      continue;
    }
    const auto found =
        static_cast<std::uint32_t>(size_class / 64 * 64 + 63 - static_cast<std::uint32_t>(std::countl_zero(bits)));
    return last_of(found, bins_[found].count() - 1);
  }
  return {};
}

// The first chunk whose last entry is not below; the last chunk when there is none.
std::uint32_t FreeList::chunk_for(const Bin& bin, std::uint64_t size, std::uint64_t order) {
  std::uint32_t low = 0, high = bin.count() - 1;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    const Chunk& chunk = *bin.at(middle);
    if (is_below(chunk.entries[chunk.count - 1], size, order)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The one where the entry belongs, cut in two when it is full.
FreeList::Chunk& FreeList::chunk_with_room(Bin& bin, const Entry& entry) {
  if (bin.first == nullptr) {
    bin.first = new_chunk();
    return *bin.first;
  }
  const std::uint32_t ordinal = bin.chunks ? chunk_for(bin, entry.size, entry.order) : 0;
  Chunk& lower = *bin.at(ordinal);
  if (lower.count < kChunk) return lower;
  if (!bin.chunks) bin.chunks = std::make_unique<std::vector<Chunk*>>(1, bin.first);
  Chunk& upper = *new_chunk();
  bin.chunks->insert(bin.chunks->begin() + ordinal + 1, &upper);
  constexpr std::uint32_t kHalf = kChunk / 2;
  std::copy(lower.entries.begin() + kHalf, lower.entries.end(), upper.entries.begin());
  upper.count = kChunk - kHalf;
  lower.count = kHalf;
  return is_below(lower.entries[kHalf - 1], entry.size, entry.order) ? upper : lower;
}

void FreeList::drop_chunk(Bin& bin, std::uint32_t ordinal) {
  spare_.push_back(bin.at(ordinal));
  bin.chunks->erase(bin.chunks->begin() + ordinal);
  bin.first = bin.chunks->front();
}

FreeList::Chunk* FreeList::new_chunk() {
  Chunk* chunk = nullptr;
  if (!spare_.empty()) {
    chunk = spare_.back();
    spare_.pop_back();
  } else {
    if (next_of_slab_ == kSlab) {
      slabs_.push_back(std::make_unique_for_overwrite<Chunk[]>(kSlab));
      next_of_slab_ = 0;
    }
    chunk = &slabs_.back()[next_of_slab_++];
  }
  chunk->count = 0;
  return chunk;
}

}  // namespace vramfit::allocator
