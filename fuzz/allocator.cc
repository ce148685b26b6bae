// Bytes as a program of allocator calls: whatever is asked in whatever order, the simulator's invariants hold, and at
// the end everything can be given back.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "allocator/card_device.h"
#include "allocator/invariants.h"
#include "allocator/simulator.h"

namespace {

using namespace vramfit::allocator;

constexpr std::uint64_t kMib = 1 << 20;

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), end_(data + size) {}
  bool is_empty() const { return data_ == end_; }
  std::uint64_t take(int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count && data_ != end_; ++i) value = value << 8 | *data_++;
    return value;
  }

 private:
  const std::uint8_t* data_;
  const std::uint8_t* end_;
};

struct Live {
  BlockId block;
  std::uint32_t tag;
};

Settings settings_of(Bytes& bytes) {
  Settings settings;
  const std::uint64_t flags = bytes.take(1), sizes = bytes.take(1);
  settings.expandable_segments = (flags & 1) != 0;
  if ((flags & 2) != 0) settings.max_split_bytes = (20 + sizes) * kMib;
  if ((flags & 4) != 0) settings.max_non_split_rounding_bytes = (20 + sizes) * kMib;
  if ((flags & 8) != 0) settings.roundup_power2_divisions.fill(1U << (sizes % 5));
  if ((flags & 16) != 0) settings.garbage_collection_threshold = 0.1 + static_cast<double>(sizes) / 300;
  if ((flags & 32) != 0) settings.large_segment_bytes = (20 + 2 * (sizes % 40)) * kMib;
  return settings;
}

void check(const Simulator& simulator) {
  for (const std::string& violation : InvariantCheck(simulator).violations()) {
    std::fputs((violation + "\n").c_str(), stderr);
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  Bytes bytes(data, size);
  const Rules rules = rules_of({2, static_cast<int>(bytes.take(1) % 16)});
  CardDevice device((64 + bytes.take(1) * 8) * kMib);
  Simulator simulator(device, rules, settings_of(bytes));
  if (bytes.take(1) % 3 == 0) simulator.set_memory_fraction(0.8);
  std::vector<Live> live, pending;
  std::uint32_t tag = 0;
  bool is_open = false;
  while (!bytes.is_empty()) {
    const std::uint64_t what = bytes.take(1);
    if (what < 120) {
      const std::uint64_t amount = bytes.take(2) << (what % 13);
      const BlockId block = simulator.malloc(amount + 1, bytes.take(1) % 3, ++tag);
      if (block != kNoBlock) live.push_back({block, tag});
    } else if (what < 230 && !live.empty()) {
      const std::size_t at = bytes.take(1) % live.size();
      if (what % 5 == 0) {
        simulator.record_stream(live[at].block, 7);
        pending.push_back(live[at]);
      }
      simulator.free(live[at].block);
      live[at] = live.back();
      live.pop_back();
    } else if (what < 240 && !pending.empty()) {
      simulator.complete(pending.back().block, pending.back().tag);
      pending.pop_back();
    } else if (what < 245) {
      simulator.empty_cache();
    } else if (what < 250) {
      is_open ? simulator.end_allocate_to_pool({0, 1}) : simulator.begin_allocate_to_pool({0, 1}, what % 2);
      if (is_open && what % 3 == 0) simulator.create_pool({0, 1});
      is_open = !is_open;
    }
    check(simulator);
  }
  if (is_open) simulator.end_allocate_to_pool({0, 1});
  for (const Live& one : live) simulator.free(one.block);
  simulator.empty_cache();
  check(simulator);
  if (simulator.statistics().current(StatKind::kActive) != 0) std::abort();
  return 0;
}
