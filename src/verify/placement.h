// Whether blocks of memory could all have been where they are said to have been. For tests and fuzzers of whatever
// places or replays blocks.
#ifndef VRAMFIT_VERIFY_PLACEMENT_H
#define VRAMFIT_VERIFY_PLACEMENT_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vramfit::verify {

// A block or a segment: bytes from `address` on, from event `born` until before `died`.
struct Placed {
  std::uint64_t address = 0;
  std::int64_t size = 0;
  std::uint64_t born = 0, died = 0;
};

// Every pair of blocks that share bytes while both live, every two segments that do, and every block that some byte of
// lies in no segment that lives as long: a sentence each, at most `most`. Looks at all pairs: for thousands, not
// millions.
std::vector<std::string> check_placement(std::span<const Placed> blocks, std::span<const Placed> segments,
                                         std::size_t most = 10);

}  // namespace vramfit::verify

#endif
