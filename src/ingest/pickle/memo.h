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
  void add(const Value& value) {
    if (count_ != dense_.size()) return put(count_, value);
    dense_.push_back(pack(value));
    ++count_;
  }
  std::optional<Value> find(std::uint64_t number) const {
    if (number < dense_.size() && dense_[number] != 0) return unpack(dense_[number]);
    return find_sparse(number);
  }
  std::size_t memory_bytes() const;

 private:
  // A word: kind + 1 (0 is "nothing there") in the top byte, the tag of a folded value below it, 48 bits of payload.
  static constexpr int kKindShift = 56;
  static constexpr int kTagShift = 48;
  static constexpr std::uint64_t kPayloadMask = (std::uint64_t{1} << kTagShift) - 1;
  static constexpr std::uint64_t kWide = std::uint64_t{255} << kKindShift;

  std::uint64_t pack(const Value& value) {
    if (value.bits > kPayloadMask) return pack_wide(value);
    return (static_cast<std::uint64_t>(value.kind) + 1) << kKindShift | std::uint64_t{value.tag} << kTagShift |
           value.bits;
  }
  Value unpack(std::uint64_t word) const {
    if ((word & kWide) == kWide) return wide_[word & kPayloadMask];
    return {static_cast<Kind>((word >> kKindShift) - 1), false, static_cast<std::uint8_t>(word >> kTagShift),
            word & kPayloadMask};
  }
  std::uint64_t pack_wide(const Value& value);
  std::optional<Value> find_sparse(std::uint64_t number) const;

  std::vector<std::uint64_t> dense_;
  std::unordered_map<std::uint64_t, std::uint64_t> sparse_;
  std::vector<Value> wide_;  // values whose bits don't fit a word
  std::uint64_t count_ = 0;  // of distinct numbers
};

}  // namespace vramfit::ingest::pickle

#endif
