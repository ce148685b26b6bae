// Every distinct run of bytes of a pickle, once: text, bytes and big integers by a 32-bit id.
#ifndef VRAMFIT_INGEST_PICKLE_STRINGS_H
#define VRAMFIT_INGEST_PICKLE_STRINGS_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace vramfit::ingest::pickle {

class Strings {
 public:
  Strings();

  // The same bytes always give the same id; ids count up from 0.
  std::uint32_t intern(std::string_view text);
  std::string_view text(std::uint32_t id) const { return entries_[id]; }
  std::size_t size() const { return entries_.size(); }
  std::size_t memory_bytes() const;

 private:
  char* reserve(std::size_t size);
  void grow();

  std::vector<std::string_view> entries_;
  std::vector<std::uint32_t> table_;  // open addressing: id + 1, 0 is free; a power of two in size
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* free_ = nullptr;
  std::size_t free_size_ = 0;
  std::size_t chunk_bytes_ = 0;
};

}  // namespace vramfit::ingest::pickle

#endif
