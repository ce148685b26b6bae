// A size as a text printed it. "1.50 GiB" stands for every count of bytes that rounds to it, so it is an interval, and
// sums and differences of such sizes are intervals too.
#ifndef VRAMFIT_MODEL_PRINTED_BYTES_H
#define VRAMFIT_MODEL_PRINTED_BYTES_H

#include <algorithm>
#include <cstdint>

#include "base/bytes.h"

namespace vramfit::model {

using base::Bytes;

// Sizes beyond this are held at it (a program's own overflow prints up to 2^64 bytes); a sum of two still fits.
inline constexpr std::int64_t kPrintedBytesLimit = (std::int64_t{1} << 62) - 1;

struct PrintedBytes {
  Bytes value;      // the number as printed, times its unit
  Bytes low, high;  // the least and the greatest count of bytes that prints so, both inclusive
  bool exact() const { return low == high; }
  bool contains(Bytes bytes) const { return low <= bytes && bytes <= high; }
  friend bool operator==(const PrintedBytes&, const PrintedBytes&) = default;
};

inline Bytes held_within_limit(std::int64_t count) {
  return Bytes(std::clamp(count, -kPrintedBytesLimit, kPrintedBytesLimit));
}

inline PrintedBytes exactly(Bytes bytes) { return {bytes, bytes, bytes}; }

inline PrintedBytes operator+(const PrintedBytes& left, const PrintedBytes& right) {
  return {held_within_limit(left.value.count() + right.value.count()),
          held_within_limit(left.low.count() + right.low.count()),
          held_within_limit(left.high.count() + right.high.count())};
}

inline PrintedBytes operator-(const PrintedBytes& left, const PrintedBytes& right) {
  return {held_within_limit(left.value.count() - right.value.count()),
          held_within_limit(left.low.count() - right.high.count()),
          held_within_limit(left.high.count() - right.low.count())};
}

// Comparisons that hold for every pair of counts the two may stand for.
inline bool surely_less(const PrintedBytes& left, const PrintedBytes& right) { return left.high < right.low; }
inline bool surely_at_least(const PrintedBytes& left, const PrintedBytes& right) { return left.low >= right.high; }

}  // namespace vramfit::model

#endif
