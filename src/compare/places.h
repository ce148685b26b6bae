// The segment and the offset at which each block was put, and the rule by which a driver handed out the segments.
#ifndef VRAMFIT_COMPARE_PLACES_H
#define VRAMFIT_COMPARE_PLACES_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "compare/alignment.h"
#include "compare/event_stream.h"

namespace vramfit::compare {

struct SegmentOffset {
  std::size_t segment = kNobody;  // each time one comes it has a number of its own
  std::int64_t offset = 0;
  bool operator==(const SegmentOffset&) const = default;
};

// The place of each event. Where it is no allocation, or in no known segment, the segment is kNobody.
std::vector<SegmentOffset> find_places(const EventStream& stream);

// A segment of one side is that segment of the other in which the first common block was put.
struct PlaceCount {
  std::size_t same = 0;
  std::size_t of = 0;                 // allocations that both sides have, with places
  std::size_t first_other = kNobody;  // index of the recorded event
  bool operator==(const PlaceCount&) const = default;
};
PlaceCount compare_places(const EventStream& recorded, const EventStream& virtual_run, const Alignment& alignment);

enum class AddressOrder {
  kUnknown,  // too few segments to tell, or expandable ones
  kLinux,    // chunks from multiples of 32 MiB, each below the last
  kWsl       // packed, from low addresses up
};
std::string_view to_string(AddressOrder order);  // "not known", "linux", "wsl"
AddressOrder find_address_order(const EventStream& stream);

}  // namespace vramfit::compare

#endif
