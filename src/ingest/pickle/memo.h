// The memo of a pickle: number -> value, 8 bytes an entry. Pickles count up from 0; one that doesn't costs more.
#ifndef VRAMFIT_INGEST_PICKLE_MEMO_H
#define VRAMFIT_INGEST_PICKLE_MEMO_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ingest/pickle/value.h"

namespace vramfit::ingest::pickle {

class Memo {
 public:
  void put(std::uint64_t number, const Value& value);
  // MEMOIZE: the number is how many there are.
  void add(const Value& value) { put(count_, value); }
  std::optional<Value> find(std::uint64_t number) const;
  std::size_t memory_bytes() const;

 private:
  std::uint64_t pack(const Value& value);
  Value unpack(std::uint64_t word) const;

  std::vector<std::uint64_t> dense_;
  std::unordered_map<std::uint64_t, std::uint64_t> sparse_;
  std::vector<Value> wide_;  // values whose bits don't fit a word
  std::uint64_t count_ = 0;  // of distinct numbers
};

}  // namespace vramfit::ingest::pickle

#endif
