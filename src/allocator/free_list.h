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
  // Entries without defaults: chunks of them are made by the dozen, and what `count` leaves out is never read.
  struct Entry {
    std::uint64_t size;
    std::uint64_t order;
    BlockId block;
  };

 private:
  static constexpr std::size_t kChunk = 42;  // a chunk is 1 KiB
  struct Chunk {
    std::uint32_t count;
    std::array<Entry, kChunk> entries;
  };

 public:
  // A place in the order; invalid after any change.
  struct Cursor {
    const Chunk* chunk = nullptr;  // nullptr: the end
    std::uint32_t size_class = 0;
    std::uint32_t ordinal = 0;  // of the chunk in its bin
    std::uint32_t index = 0;
    bool is_end() const { return chunk == nullptr; }
  };

  FreeList() = default;
  FreeList(const FreeList&) = delete;
  FreeList& operator=(const FreeList&) = delete;

  void insert(const Entry& entry) { insert(class_of(entry.size), entry); }
  // The entry must be there.
  void erase(std::uint64_t size, std::uint64_t order) { erase(find(size, order)); }
  void erase(const Cursor& at);
  // Erases one and inserts the other; in place when no third lies between them, as when a large block is cut or grows.
  void replace(const Cursor& at, const Entry& entry);
  void replace(std::uint64_t size, std::uint64_t order, const Entry& entry) { replace(find(size, order), entry); }
  // The first entry that is not below (size, order).
  Cursor lower_bound(std::uint64_t size, std::uint64_t order = 0) const;
  Cursor first() const { return from_class(0); }
  Cursor last() const;
  Cursor next(Cursor at) const;
  Cursor previous(Cursor at) const;  // the end when `at` is the first; the last when `at` is the end
  const Entry& at(const Cursor& at) const { return at.chunk->entries[at.index]; }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }

 private:
  static constexpr std::size_t kClasses = 52 * 16;  // sizes up to 2^63
  static constexpr std::size_t kWords = kClasses / 64;
  static constexpr std::size_t kSlab = 8;
  struct Bin {
    Chunk* first = nullptr;
    // All of them, the first included, once there was more than one. None is empty, except a single one.
    std::unique_ptr<std::vector<Chunk*>> chunks;
    std::uint32_t count() const { return chunks ? static_cast<std::uint32_t>(chunks->size()) : first != nullptr; }
    Chunk* at(std::uint32_t ordinal) const { return ordinal == 0 ? first : (*chunks)[ordinal]; }
  };

  static std::uint32_t class_of(std::uint64_t size) {
    const std::uint64_t units = size >> 9;
    if (units < 16) return static_cast<std::uint32_t>(units);
    const auto log2 = static_cast<std::uint32_t>(63 - std::countl_zero(units));
    return ((log2 - 3) << 4) + static_cast<std::uint32_t>((units >> (log2 - 4)) & 15);
  }
  // Compares without branches: which way it goes is anybody's guess.
  static bool is_below(const Entry& entry, std::uint64_t size, std::uint64_t order) {
    return (entry.size < size) | ((entry.size == size) & (entry.order < order));
  }
  bool is_used(std::uint32_t size_class) const { return (used_[size_class / 64] >> (size_class % 64) & 1) != 0; }
  void mark_used(std::uint32_t size_class) {
    used_[size_class / 64] |= std::uint64_t{1} << (size_class % 64);
    used_words_ |= 1U << (size_class / 64);
  }
  void mark_empty(std::uint32_t size_class) {
    used_[size_class / 64] &= ~(std::uint64_t{1} << (size_class % 64));
    if (used_[size_class / 64] == 0) used_words_ &= ~(1U << (size_class / 64));
  }
  Cursor from_class(std::uint32_t size_class) const;
  Cursor find(std::uint64_t size, std::uint64_t order) const { return in_bin(class_of(size), size, order); }
  Cursor in_bin(std::uint32_t size_class, std::uint64_t size, std::uint64_t order) const;
  static std::uint32_t place_in(const Chunk& chunk, std::uint64_t size, std::uint64_t order);
  static std::uint32_t chunk_for(const Bin& bin, std::uint64_t size, std::uint64_t order);
  void insert(std::uint32_t size_class, const Entry& entry);
  Chunk& chunk_with_room(Bin& bin, const Entry& entry);
  void drop_chunk(Bin& bin, std::uint32_t ordinal);
  Chunk* new_chunk();

  std::array<Bin, kClasses> bins_;
  std::array<std::uint64_t, kWords> used_{};
  std::uint32_t used_words_ = 0;  // those of used_ that are not 0
  std::size_t count_ = 0;
  std::vector<std::unique_ptr<Chunk[]>> slabs_;
  std::size_t next_of_slab_ = kSlab;
  std::vector<Chunk*> spare_;
};

// These are on the hot path of every allocation: in the header so that they are compiled into it.

inline FreeList::Cursor FreeList::from_class(std::uint32_t size_class) const {
  std::size_t word = size_class / 64;
  if (word >= kWords) return {};
  std::uint64_t bits = used_[word] & ~std::uint64_t{0} << (size_class % 64);
  if (bits == 0) {
    const std::uint32_t words = used_words_ & ~((2U << word) - 1);
    if (words == 0) return {};
    word = static_cast<std::size_t>(std::countr_zero(words));
    bits = used_[word];
  }
  const auto found = static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
  return {bins_[found].first, found, 0, 0};
}

// The place of the first entry that is not below.
inline std::uint32_t FreeList::place_in(const Chunk& chunk, std::uint64_t size, std::uint64_t order) {
  std::uint32_t place = 0;
  if (chunk.count <= 8) {
    for (std::uint32_t i = 0; i < chunk.count; ++i) place += is_below(chunk.entries[i], size, order);
    return place;
  }
  std::uint32_t length = chunk.count;
  while (length > 1) {
    const std::uint32_t half = length / 2;
    place += is_below(chunk.entries[place + half - 1], size, order) ? half : 0;
    length -= half;
  }
  return place + is_below(chunk.entries[place], size, order);
}

inline FreeList::Cursor FreeList::in_bin(std::uint32_t size_class, std::uint64_t size, std::uint64_t order) const {
  const Bin& bin = bins_[size_class];
  const std::uint32_t ordinal = bin.chunks ? chunk_for(bin, size, order) : 0;
  const Chunk* const chunk = bin.at(ordinal);
  return {chunk, size_class, ordinal, place_in(*chunk, size, order)};
}

inline FreeList::Cursor FreeList::lower_bound(std::uint64_t size, std::uint64_t order) const {
  const std::uint32_t size_class = class_of(size);
  if (is_used(size_class)) {
    const Cursor found = in_bin(size_class, size, order);
    if (found.index < found.chunk->count) return found;
  }
  return from_class(size_class + 1);
}

inline void FreeList::insert(std::uint32_t size_class, const Entry& entry) {
  Bin& bin = bins_[size_class];
  const bool is_plain = bin.first != nullptr && !bin.chunks && bin.first->count < kChunk;
  Chunk& chunk = is_plain ? *bin.first : chunk_with_room(bin, entry);
  ++count_;
  std::uint32_t place = chunk.count++;
  if (place == 0) mark_used(size_class);
  // It goes from the end: the place is found as the others make room.
  for (; place > 0 && !is_below(chunk.entries[place - 1], entry.size, entry.order); --place) {
    chunk.entries[place] = chunk.entries[place - 1];
  }
  chunk.entries[place] = entry;
}

inline void FreeList::erase(const Cursor& at) {
  Bin& bin = bins_[at.size_class];
  Chunk& chunk = *bin.at(at.ordinal);
  --chunk.count;
  --count_;
  if (at.index < chunk.count) {
    Entry* const place = chunk.entries.data() + at.index;
    std::copy(place + 1, chunk.entries.data() + chunk.count + 1, place);
  } else if (chunk.count == 0) {
    if (bin.count() > 1) {
      drop_chunk(bin, at.ordinal);
    } else {
      mark_empty(at.size_class);
    }
  }
}

inline void FreeList::replace(const Cursor& at, const Entry& entry) {
  const std::uint32_t size_class = class_of(entry.size);
  if (size_class == at.size_class) {
    const Bin& bin = bins_[at.size_class];
    Chunk& chunk = *bin.at(at.ordinal);
    const bool is_above =
        at.index == 0 ? at.ordinal == 0 : is_below(chunk.entries[at.index - 1], entry.size, entry.order);
    const bool is_last = at.index + 1 == chunk.count;
    const bool is_under =
        is_last ? at.ordinal + 1 == bin.count() : !is_below(chunk.entries[at.index + 1], entry.size, entry.order);
    if (is_above && is_under) {
      chunk.entries[at.index] = entry;
      return;
    }
  }
  erase(at);
  insert(size_class, entry);
}

}  // namespace vramfit::allocator

#endif
