// The free blocks of one pool and stream, in the allocator's order: by size, then by `order`, which is the address
// or the age of a block.
//
//   class     0   1   2  ...  15 | 16..31 | 32,34..62 | 64,68..       units of 512 bytes, 16 classes a power of two
//   bitmap    .   x   .  ...  x  |  ...
//   bin           [512/a 512/b]                                       sorted chunks; nearly always one
//
// Equivalent to the std::set of PyTorch, without a node for each block: the smallest block that is large enough is in
// the class of its size or the first of the next class that is not empty.
#ifndef VRAMFIT_ALLOCATOR_FREE_LIST_H
#define VRAMFIT_ALLOCATOR_FREE_LIST_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace vramfit::allocator {

using BlockId = std::uint32_t;
inline constexpr BlockId kNoBlock = UINT32_MAX;

class FreeList {
 public:
  struct Entry {
    std::uint64_t size = 0;
    std::uint64_t order = 0;
    BlockId block = kNoBlock;
  };
  // A place in the order; invalid after any change.
  struct Cursor {
    std::uint32_t size_class = kEnd;
    std::uint32_t chunk = 0;
    std::uint32_t index = 0;
    bool is_end() const { return size_class == kEnd; }
  };

  void insert(const Entry& entry);
  // The entry must be there.
  void erase(std::uint64_t size, std::uint64_t order);
  void erase(const Cursor& at);
  // Erases one and inserts the other; in place when no third lies between them, as when a large block is cut or grows.
  void replace(const Cursor& at, const Entry& entry);
  void replace(std::uint64_t size, std::uint64_t order, const Entry& entry) {
    replace(in_bin(class_of(size), size, order), entry);
  }
  // The first entry that is not below (size, order).
  Cursor lower_bound(std::uint64_t size, std::uint64_t order = 0) const;
  Cursor first() const { return from_class(0); }
  Cursor last() const;
  Cursor next(Cursor at) const;
  Cursor previous(Cursor at) const;  // the end when `at` is the first; the last when `at` is the end
  const Entry& at(const Cursor& at) const { return bins_[at.size_class].chunks[at.chunk]->entries[at.index]; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::uint32_t kEnd = UINT32_MAX;
  static constexpr std::size_t kChunk = 48;
  static constexpr std::size_t kClasses = 52 * 16;  // sizes up to 2^63
  struct Chunk {
    std::uint32_t count = 0;
    std::array<Entry, kChunk> entries;
  };
  struct Bin {
    std::vector<std::unique_ptr<Chunk>> chunks;  // none is empty, except a single one
  };

  static std::uint32_t class_of(std::uint64_t size) {
    const std::uint64_t units = size >> 9;
    if (units < 16) return static_cast<std::uint32_t>(units);
    const auto log2 = static_cast<std::uint32_t>(63 - std::countl_zero(units));
    return ((log2 - 3) << 4) + static_cast<std::uint32_t>((units >> (log2 - 4)) & 15);
  }
  static bool is_below(const Entry& entry, std::uint64_t size, std::uint64_t order) {
    return entry.size != size ? entry.size < size : entry.order < order;
  }
  Cursor from_class(std::uint32_t size_class) const;
  Cursor in_bin(std::uint32_t size_class, std::uint64_t size, std::uint64_t order) const;
  static std::uint32_t chunk_for(const Bin& bin, std::uint64_t size, std::uint64_t order);
  void split_chunk(Bin& bin, std::uint32_t index);

  std::array<Bin, kClasses> bins_;
  std::array<std::uint64_t, kClasses / 64> used_{};
  std::size_t count_ = 0;
};

// On the hot path of every allocation: in the header so that they are compiled into it.

inline FreeList::Cursor FreeList::from_class(std::uint32_t size_class) const {
  for (std::size_t word = size_class / 64; word < used_.size(); ++word) {
    std::uint64_t bits = used_[word];
    if (word == size_class / 64) bits &= ~std::uint64_t{0} << (size_class % 64);
    if (bits != 0)
      return {static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits))), 0, 0};
  }
  return {};
}

// The first chunk whose last entry is not below; the last chunk when there is none.
inline std::uint32_t FreeList::chunk_for(const Bin& bin, std::uint64_t size, std::uint64_t order) {
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

inline FreeList::Cursor FreeList::in_bin(std::uint32_t size_class, std::uint64_t size, std::uint64_t order) const {
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

inline FreeList::Cursor FreeList::lower_bound(std::uint64_t size, std::uint64_t order) const {
  const std::uint32_t size_class = class_of(size);
  if ((used_[size_class / 64] >> (size_class % 64) & 1) != 0) {
    const Cursor found = in_bin(size_class, size, order);
    if (found.index < bins_[size_class].chunks[found.chunk]->count) return found;
  }
  return from_class(size_class + 1);
}

inline void FreeList::insert(const Entry& entry) {
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

inline void FreeList::erase(std::uint64_t size, std::uint64_t order) { erase(in_bin(class_of(size), size, order)); }

inline void FreeList::erase(const Cursor& at) {
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

inline void FreeList::replace(const Cursor& at, const Entry& entry) {
  Chunk& chunk = *bins_[at.size_class].chunks[at.chunk];
  const bool is_above = at.index == 0 ? at.chunk == 0 : is_below(chunk.entries[at.index - 1], entry.size, entry.order);
  const bool is_last = at.index + 1 == chunk.count;
  const bool is_under = is_last ? at.chunk + 1 == bins_[at.size_class].chunks.size()
                                : !is_below(chunk.entries[at.index + 1], entry.size, entry.order);
  if (is_above && is_under && class_of(entry.size) == at.size_class) {
    chunk.entries[at.index] = entry;
    return;
  }
  erase(at);
  insert(entry);
}

}  // namespace vramfit::allocator

#endif
