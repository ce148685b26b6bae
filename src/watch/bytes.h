// The bytes of a watch recording: numbers and texts of a payload, and the frame around it (recording.h).
#ifndef VRAMFIT_WATCH_BYTES_H
#define VRAMFIT_WATCH_BYTES_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vramfit::watch {

inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
}
// Differences wrap around instead of overflowing; adding wraps back.
inline std::int64_t minus(std::int64_t one, std::int64_t other) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) - static_cast<std::uint64_t>(other));
}
inline std::int64_t plus(std::int64_t one, std::int64_t other) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) + static_cast<std::uint64_t>(other));
}

class Writer {
 public:
  void byte(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    byte(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Reads nothing beyond the end: `ok()` is false from then on and every value is 0.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  std::uint8_t byte() {
    if (bytes_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if ((next & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  // A count of things that take at least a byte each.
  std::uint64_t count() {
    const std::uint64_t value = number();
    if (value <= bytes_.size()) return value;
    ok_ = false;
    return 0;
  }
  std::string text() {
    const std::uint64_t size = count();
    std::string value(bytes_.substr(0, size));
    bytes_.remove_prefix(std::min<std::size_t>(size, bytes_.size()));
    return value;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool ok_ = true;
};

// The payload with its head before it.
std::string frame(std::string_view payload);

}  // namespace vramfit::watch

#endif
