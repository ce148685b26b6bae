// Tables that keep each distinct value once and give it an id.
#ifndef VRAMFIT_INGEST_SNAPSHOT_TABLES_H
#define VRAMFIT_INGEST_SNAPSHOT_TABLES_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vramfit::ingest::snapshot {

// Open addressing. The things themselves lie with the caller; a cell is the upper half of the hash, and id + 1.
class IdTable {
 public:
  // The id of the thing that `equals(id)`, or the one that `add()` gives it.
  template <class Equals, class Add>
  std::uint32_t find_or_add(std::uint64_t hash, const Equals& equals, const Add& add) {
    const std::uint64_t check = hash & ~std::uint64_t{0xffffffff};
    std::size_t at = place(check);
    for (; cells_[at] != 0; at = (at + 1) & (cells_.size() - 1)) {
      const auto id = static_cast<std::uint32_t>(cells_[at]) - 1;
      if ((cells_[at] ^ check) >> 32 == 0 && equals(id)) return id;
    }
    const std::uint32_t id = add();
    cells_[at] = check | (std::uint64_t{id} + 1);
    if (++count_ * 4 > cells_.size() * 3) grow();
    return id;
  }
  std::size_t memory_bytes() const { return cells_.size() * sizeof(std::uint64_t); }

 private:
  std::size_t place(std::uint64_t cell) const { return (cell >> 32) & (cells_.size() - 1); }

  void grow() {
    const std::vector<std::uint64_t> old = std::move(cells_);
    cells_.assign(old.size() * 2, 0);
    for (const std::uint64_t cell : old) {
      if (cell == 0) continue;
      std::size_t at = place(cell);
      while (cells_[at] != 0) at = (at + 1) & (cells_.size() - 1);
      cells_[at] = cell;
    }
  }

  std::vector<std::uint64_t> cells_ = std::vector<std::uint64_t>(256);
  std::size_t count_ = 0;
};

// The words are small ids that count up: each is mixed by a multiplication, and the upper half is the good one.
template <class Word>
std::uint64_t hash_words(std::span<const Word> words) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u + words.size();
  for (const Word word : words) {
    hash = (hash ^ static_cast<std::uint64_t>(word)) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash * 0xc4ceb9fe1a85ec53u;
}

}  // namespace vramfit::ingest::snapshot

#endif
