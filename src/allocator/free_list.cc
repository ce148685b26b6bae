#include "allocator/free_list.h"

#include <algorithm>
#include <utility>

namespace vramfit::allocator {

FreeList::Cursor FreeList::from_class(std::uint32_t size_class) const {
  for (std::size_t word = size_class / 64; word < used_.size(); ++word) {
    std::uint64_t bits = used_[word];
    if (word == size_class / 64) bits &= ~std::uint64_t{0} << (size_class % 64);
    if (bits != 0)
      return {static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))), 0, 0};
  }
  return {};
}

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

// The first chunk whose last entry is not below; the last chunk when there is none.
std::uint32_t FreeList::chunk_for(const Bin& bin, std::uint64_t size, std::uint64_t order) {
  if (bin.chunks.size() <= 1) return 0;
  std::uint32_t low = 0, high = static_cast<std::uint32_t>(bin.chunks.size() - 1);
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    const Chunk& chunk = *bin.chunks[middle];
    if (is_below(chunk.entries[chunk.count - 1], size, order)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

FreeList::Cursor FreeList::in_bin(std::uint32_t size_class, std::uint64_t size, std::uint64_t order) const {
  const Bin& bin = bins_[size_class];
  const std::uint32_t chunk_index = chunk_for(bin, size, order);
  const Chunk& chunk = *bin.chunks[chunk_index];
  const Entry* const begin = chunk.entries.data();
  const Entry* const end = begin + chunk.count;
  const Entry* found = begin;
  if (chunk.count <= 8) {
    while (found != end && is_below(*found, size, order)) ++found;
  } else {
    found = std::partition_point(begin, end, [&](const Entry& entry) { return is_below(entry, size, order); });
  }
  return {size_class, chunk_index, static_cast<std::uint32_t>(found - begin)};
}

FreeList::Cursor FreeList::lower_bound(std::uint64_t size, std::uint64_t order) const {
  const std::uint32_t size_class = class_of(size);
  if ((used_[size_class / 64] >> (size_class % 64) & 1) != 0) {
    const Cursor found = in_bin(size_class, size, order);
    if (found.index < bins_[size_class].chunks[found.chunk]->count) return found;
  }
  return from_class(size_class + 1);
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

void FreeList::insert(const Entry& entry) {
  const std::uint32_t size_class = class_of(entry.size);
  Bin& bin = bins_[size_class];
  if (bin.chunks.empty()) bin.chunks.push_back(std::make_unique<Chunk>());
  Cursor place = in_bin(size_class, entry.size, entry.order);
  if (bin.chunks[place.chunk]->count == kChunk) {
    split_chunk(bin, place.chunk);
    place = in_bin(size_class, entry.size, entry.order);
  }
  Chunk& chunk = *bin.chunks[place.chunk];
  Entry* const begin = chunk.entries.data();
  std::copy_backward(begin + place.index, begin + chunk.count, begin + chunk.count + 1);
  begin[place.index] = entry;
  ++chunk.count;
  ++count_;
  used_[size_class / 64] |= std::uint64_t{1} << (size_class % 64);
}

void FreeList::erase(std::uint64_t size, std::uint64_t order) { erase(in_bin(class_of(size), size, order)); }

void FreeList::erase(const Cursor& at) {
  Bin& bin = bins_[at.size_class];
  Chunk& chunk = *bin.chunks[at.chunk];
  Entry* const begin = chunk.entries.data();
  std::copy(begin + at.index + 1, begin + chunk.count, begin + at.index);
  --chunk.count;
  --count_;
  if (chunk.count > 0) return;
  if (bin.chunks.size() > 1) {
    bin.chunks.erase(bin.chunks.begin() + at.chunk);
  } else {
    used_[at.size_class / 64] &= ~(std::uint64_t{1} << (at.size_class % 64));
  }
}

}  // namespace vramfit::allocator
