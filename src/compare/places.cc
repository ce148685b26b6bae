#include "compare/places.h"

#include <map>
#include <unordered_map>

namespace vramfit::compare {

namespace {

using model::TraceAction;

constexpr std::uint64_t kMib = 1 << 20;
constexpr std::uint64_t kChunk = 32 * kMib;   // what native Linux reserves at once
constexpr std::uint64_t kGranule = 2 * kMib;  // what a driver rounds a segment up to

// The segments at one moment.
//
//   | segment 3            |   gap   | segment 7 ...            an expandable one grows at its end
//     ^ block: {3, offset}
class Segments {
 public:
  void add(const Extent& extent) {
    const auto size = static_cast<std::uint64_t>(extent.size);
    live_[extent.address] = {extent.address + size, next_++};
  }
  void map(const Event& event) {
    const auto size = static_cast<std::uint64_t>(event.size);
    auto after = live_.upper_bound(event.address);
    if (after != live_.begin()) {
      auto& [address, segment] = *std::prev(after);
      if (segment.end >= event.address) {
        segment.end = std::max(segment.end, event.address + size);
        return;
      }
    }
    add({event.address, event.size});
  }
  void unmap(const Event& event) {
    auto after = live_.upper_bound(event.address);
    if (after == live_.begin()) return;
    auto at = std::prev(after);
    const std::uint64_t end = event.address + static_cast<std::uint64_t>(event.size);
    if (at->second.end > end) return;  // a hole: what is behind it still counts from the same beginning
    at->second.end = event.address;
    if (at->second.end == at->first) live_.erase(at);
  }
  void remove(std::uint64_t address) { live_.erase(address); }
  SegmentOffset find(std::uint64_t address) const {
    const auto after = live_.upper_bound(address);
    if (after == live_.begin()) return {};
    const auto& [begin, segment] = *std::prev(after);
    if (address >= segment.end) return {};
    return {segment.number, static_cast<std::int64_t>(address - begin)};
  }

 private:
  struct Live {
    std::uint64_t end = 0;
    std::size_t number = 0;
  };
  std::map<std::uint64_t, Live> live_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<SegmentOffset> find_places(const EventStream& stream) {
  std::vector<SegmentOffset> places(stream.events.size());
  if (!stream.has_places) return places;
  Segments segments;
  for (const Extent& extent : stream.first_segments) segments.add(extent);
  for (std::size_t i = 0; i < stream.events.size(); ++i) {
    const Event& event = stream.events[i];
    switch (event.action) {
      case TraceAction::kSegmentAlloc:
        segments.add({event.address, event.size});
        break;
      case TraceAction::kSegmentFree:
        segments.remove(event.address);
        break;
      case TraceAction::kSegmentMap:
        segments.map(event);
        break;
      case TraceAction::kSegmentUnmap:
        segments.unmap(event);
        break;
      case TraceAction::kAlloc:
        places[i] = segments.find(event.address);
        break;
      default:
        break;
    }
  }
  return places;
}

PlaceCount compare_places(const EventStream& recorded, const EventStream& virtual_run, const Alignment& alignment) {
  const auto first = find_places(recorded), second = find_places(virtual_run);
  std::unordered_map<std::size_t, std::size_t> there, back;
  PlaceCount count;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::size_t j = alignment.partner[i];
    if (j == kNobody || first[i].segment == kNobody || second[j].segment == kNobody) continue;
    ++count.of;
    const std::size_t to = there.try_emplace(first[i].segment, second[j].segment).first->second;
    const std::size_t from = back.try_emplace(second[j].segment, first[i].segment).first->second;
    if (to == second[j].segment && from == first[i].segment && first[i].offset == second[j].offset) {
      ++count.same;
    } else if (count.first_other == kNobody) {
      count.first_other = i;
    }
  }
  return count;
}

std::string_view to_string(AddressOrder order) {
  switch (order) {
    case AddressOrder::kLinux:
      return "linux";
    case AddressOrder::kWsl:
      return "wsl";
    case AddressOrder::kUnknown:
      break;
  }
  return "not known";
}

AddressOrder find_address_order(const EventStream& stream) {
  std::uint64_t lowest = ~std::uint64_t{0};
  int packed = 0, chunks = 0;
  const auto look = [&](std::uint64_t address, std::int64_t size) {
    const std::uint64_t end = address + (static_cast<std::uint64_t>(size) + kGranule - 1) / kGranule * kGranule;
    const bool begins_chunk = address % kChunk == 0;
    // In chunks, a segment lies within one or begins one.
    if (!begins_chunk && address / kChunk != (end - 1) / kChunk) ++packed;
    if (begins_chunk && address < lowest && lowest != ~std::uint64_t{0}) ++chunks;
    lowest = std::min(lowest, address);
  };
  for (const Event& event : stream.events) {
    if (event.action == TraceAction::kSegmentMap) return AddressOrder::kUnknown;
    if (event.action == TraceAction::kSegmentAlloc) look(event.address, event.size);
  }
  // One may be chance where the recording began late; two are a rule.
  if (packed >= 2 && packed > chunks) return AddressOrder::kWsl;
  if (chunks >= 2 && packed == 0) return AddressOrder::kLinux;
  return AddressOrder::kUnknown;
}

}  // namespace vramfit::compare
