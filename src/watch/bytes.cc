#include "watch/bytes.h"

#include <array>
#include <optional>

#include "watch/recording.h"

namespace vramfit::watch {
namespace {

constexpr std::string_view kSync = "VFW1";
constexpr std::size_t kHeadBytes = 12;
constexpr std::size_t kMostPayload = std::size_t{16} << 20;

std::uint32_t crc32(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xedb88320u ^ (value >> 1) : value >> 1;
      table[i] = value;
    }
    return table;
  }();
  std::uint32_t crc = ~0u;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << 8 * i;
  }
  return word;
}

}  // namespace

std::string frame(std::string_view payload) {
  std::string bytes(kSync);
  for (const std::uint32_t word : {static_cast<std::uint32_t>(payload.size()), crc32(payload)}) {
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 0xff);
  }
  return bytes.append(payload);
}

bool sniff_watch_recording(std::string_view bytes) { return bytes.starts_with(kSync); }

std::optional<std::string_view> FrameScan::next() {
  skipped_ = false;
  while (at_ < bytes_.size()) {
    const bool has_head = bytes_.size() - at_ >= kHeadBytes && bytes_.substr(at_, kSync.size()) == kSync;
    const std::size_t length = has_head ? word_at(bytes_, at_ + 4) : 0;
    const bool whole = has_head && length <= kMostPayload && length <= bytes_.size() - at_ - kHeadBytes;
    const std::string_view payload = whole ? bytes_.substr(at_ + kHeadBytes, length) : std::string_view();
    if (whole && crc32(payload) == word_at(bytes_, at_ + 8)) {
      at_ += kHeadBytes + length;
      good_end_ = at_;
      return payload;
    }
    const std::size_t next = std::min(bytes_.find(kSync, at_ + 1), bytes_.size());
    damaged_bytes_ += static_cast<std::int64_t>(next - at_);
    skipped_ = true;
    at_ = next;
  }
  return std::nullopt;
}

}  // namespace vramfit::watch
