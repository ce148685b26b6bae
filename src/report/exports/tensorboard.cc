#include "report/exports/tensorboard.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace vramfit::report::exports {

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  constexpr std::uint32_t kReversed = 0x82f63b78;  // of the polynomial 0x1edc6f41
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kReversed : 0);
    table[byte] = value;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kTable = make_table();

template <class Number>
std::string little_endian(Number number) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// TensorFlow masks checksums, so that a checksum of data that holds checksums is none of its own (crc32c.h there).
std::string masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kMask = 0xa282ead8;
  return little_endian(std::rotr(crc32c(bytes), 15) + kMask);
}

std::string record(std::string_view bytes) {
  const std::string length = little_endian(static_cast<std::uint64_t>(bytes.size()));
  return length + masked_crc(length) + std::string(bytes) + masked_crc(bytes);
}

// Protobuf's wire types.
enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) bytes += static_cast<char>((number & 0x7f) | 0x80);
  return bytes + static_cast<char>(number);
}

std::string key(std::uint32_t field, Wire wire) { return varint(field << 3 | static_cast<std::uint32_t>(wire)); }

std::string bytes_field(std::uint32_t field, std::string_view bytes) {
  return key(field, Wire::kBytes) + varint(bytes.size()) + std::string(bytes);
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5.
std::string event(double wall_seconds, std::string_view rest) {
  return key(1, Wire::kFixed64) + little_endian(wall_seconds) + std::string(rest);
}

// Summary: value = 1. Summary.Value: tag = 1, simple_value = 2.
std::string scalar(std::int64_t step, std::string_view tag, float value) {
  const std::string one = bytes_field(1, tag) + key(2, Wire::kFixed32) + little_endian(value);
  return key(2, Wire::kVarint) + varint(static_cast<std::uint64_t>(step)) + bytes_field(5, bytes_field(1, one));
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t value = ~std::uint32_t{0};
  for (const char byte : bytes) value = (value >> 8) ^ kTable[(value ^ static_cast<std::uint8_t>(byte)) & 0xff];
  return ~value;
}

std::string event_file_name(const ExportFacts& facts) {
  return fmt::format("events.out.tfevents.{}.vramfit", facts.begins_ms / 1000);
}

std::string counters_to_events(const ExportFacts& facts) {
  const double begins = static_cast<double>(facts.begins_ms) / 1e3;
  std::string file = record(event(begins, bytes_field(3, "brain.Event:2")));
  for (const Counter& counter : facts.counters) {
    const std::string tag = fmt::format("card {}/{} (MiB)", counter.device, counter.name);
    for (const CounterPoint& point : counter.points) {
      if (!point.value) continue;  // not known: a scalar that is not there
      const double seconds = static_cast<double>(point.at_ns) / 1e9;
      const auto value = static_cast<float>(point.value->as_mib());
      file += record(event(begins + seconds, scalar(point.at_ns / 1'000'000, tag, value)));
    }
  }
  return file;
}

}  // namespace vramfit::report::exports
