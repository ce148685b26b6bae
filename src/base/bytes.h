// A number of bytes. Signed, so that differences are honest; arithmetic never wraps around.
#ifndef VRAMFIT_BASE_BYTES_H
#define VRAMFIT_BASE_BYTES_H

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace vramfit::base {

class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  static constexpr Bytes mib(std::int64_t count) { return Bytes(count * (std::int64_t{1} << 20)); }
  static constexpr Bytes gib(std::int64_t count) { return Bytes(count * (std::int64_t{1} << 30)); }

  constexpr std::int64_t count() const { return count_; }
  constexpr double as_mib() const { return static_cast<double>(count_) / (1 << 20); }
  constexpr double as_gib() const { return static_cast<double>(count_) / (1 << 30); }

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  // Overflow is a broken invariant: these throw std::overflow_error.
  friend Bytes operator+(Bytes left, Bytes right);
  friend Bytes operator-(Bytes left, Bytes right);
  Bytes& operator+=(Bytes other) { return *this = *this + other; }
  Bytes& operator-=(Bytes other) { return *this = *this - other; }
  constexpr Bytes operator-() const { return Bytes(-count_); }

 private:
  std::int64_t count_ = 0;
};

// Adds up numbers from outside, where overflow is bad input rather than a bug.
std::optional<Bytes> checked_add(Bytes left, Bytes right);

// Binary units as a person reads them: "512 B", "1.50 KiB", "1343 MiB", "7.92 GiB".
std::string to_string(Bytes bytes);

// "1343MiB", "20GiB", "2g", "1.5 GiB", "512k", "4096" (bytes). MB and GB are read as binary units too: drivers and
// data sheets mean those. Negative and empty sizes are refused.
Result<Bytes> parse_bytes(std::string_view text);

// The least multiple of `granularity` that is not below `bytes`.
Bytes round_up(Bytes bytes, Bytes granularity);

}  // namespace vramfit::base

#endif
