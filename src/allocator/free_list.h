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

}  // namespace vramfit::allocator

#endif
