#include "virtual_gpu/device/work.h"

#include <cstring>

#include "virtual_gpu/device/contents.h"
#include "virtual_gpu/device/device.h"
#include "virtual_gpu/ledger/ledger.h"

namespace vramfit::device {
namespace {

constexpr int64_t kCopyLatencyNs = 3000;
constexpr int64_t kPcieBytesPerUs = 12000;

// Bytes a microsecond: two transfers a clock over the whole bus.
int64_t memory_bytes_per_us(const vf_card& card) {
  const int64_t rate = int64_t{card.memory_clock_khz} * 2 * (card.memory_bus_bits / 8) / 1000;
  return rate > 0 ? rate : 300000;
}

bool is_repeated_byte(unsigned value) { return (value & 0xff) * 0x01010101u == value; }

void fill_elements(char* to, unsigned value, size_t bytes, unsigned element_bytes) {
  const unsigned byte = value & 0xff;
  if (element_bytes == 1 || (element_bytes == 2 && (value & 0xffff) == byte * 0x101u) ||
      (element_bytes == 4 && is_repeated_byte(value))) {
    fill(to, static_cast<int>(byte), bytes);
    return;
  }
  if (bytes > kKeptCopyBytes && !ledger::keeps_all_values()) return clear(to, bytes);
  fill(to, 0xff, bytes);  // marks the bytes as written; the pattern follows
  for (size_t at = 0; at + element_bytes <= bytes; at += element_bytes) std::memcpy(to + at, &value, element_bytes);
}

}  // namespace

void perform(const Work& work) {
  for (size_t row = 0; row < work.rows; ++row) {
    char* to = static_cast<char*>(work.to) + row * work.to_pitch;
    if (work.kind == WorkKind::kCopy) {
      copy(to, static_cast<const char*>(work.from) + row * work.from_pitch, work.bytes);
    } else if (work.kind == WorkKind::kFill) {
      fill_elements(to, work.fill_value, work.bytes, work.fill_element_bytes);
    }
  }
  if (work.kind == WorkKind::kHostCall && work.host_call != nullptr) work.host_call(work.argument);
}

int64_t copy_duration_ns(const void* to, const void* from, size_t bytes) {
  const Range source = find_range(from);
  const Range target = find_range(to);
  const bool within = source.place == Place::kDevice && target.place == Place::kDevice && source.card == target.card;
  const vf_card* card = ledger::card(target.card);
  const int64_t rate = within && card != nullptr ? memory_bytes_per_us(*card) / 2 : kPcieBytesPerUs;
  return kCopyLatencyNs + static_cast<int64_t>(bytes) * 1000 / rate;
}

}  // namespace vramfit::device
