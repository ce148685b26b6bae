#include "ingest/pickle/strings.h"

#include <cstring>
#include <functional>

namespace vramfit::ingest::pickle {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;

}  // namespace

Strings::Strings() : table_(1024) {}

char* Strings::reserve(std::size_t size) {
  if (size > kChunk / 4) {  // a chunk of its own: the current one may still serve small strings
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    chunk_bytes_ += size;
    return chunks_.back().get();
  }
  if (size > free_size_) {
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(kChunk));
    chunk_bytes_ += kChunk;
    free_ = chunks_.back().get();
    free_size_ = kChunk;
  }
  char* at = free_;
  free_ += size;
  free_size_ -= size;
  return at;
}

void Strings::grow() {
  std::vector<std::uint32_t> larger(table_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const std::uint32_t cell : table_) {
    if (cell == 0) continue;
    std::size_t at = std::hash<std::string_view>()(entries_[cell - 1]) & mask;
    while (larger[at] != 0) at = (at + 1) & mask;
    larger[at] = cell;
  }
  table_ = std::move(larger);
}

std::uint32_t Strings::intern(std::string_view text) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = std::hash<std::string_view>()(text) & mask;
  for (; table_[at] != 0; at = (at + 1) & mask) {
    if (entries_[table_[at] - 1] == text) return table_[at] - 1;
  }
  char* copy = reserve(text.size());
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  entries_.emplace_back(copy, text.size());
  table_[at] = static_cast<std::uint32_t>(entries_.size());
  if (entries_.size() * 4 > table_.size() * 3) grow();
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

std::size_t Strings::memory_bytes() const {
  return chunk_bytes_ + entries_.capacity() * sizeof(std::string_view) + table_.size() * sizeof(std::uint32_t);
}

}  // namespace vramfit::ingest::pickle
