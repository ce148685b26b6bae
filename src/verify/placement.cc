#include "verify/placement.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::verify {

namespace {

std::uint64_t end_of(const Placed& placed) { return placed.address + static_cast<std::uint64_t>(placed.size); }

bool overlap(const Placed& a, const Placed& b) {
  const bool in_time = a.born < b.died && b.born < a.died;
  return in_time && a.address < end_of(b) && b.address < end_of(a);
}

std::string describe(const Placed& placed) {
  return fmt::format("{:#x}+{} ({} to {})", placed.address, placed.size, placed.born, placed.died);
}

void add_overlaps(const char* what, std::span<const Placed> all, std::vector<std::string>& wrong) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (overlap(all[i], all[j]))
        wrong.push_back(fmt::format("two {} share bytes: {} and {}", what, describe(all[i]), describe(all[j])));
    }
  }
}

// Segments beside each other are one to PyTorch where it maps memory piece by piece: a block may lie over several.
bool is_covered(const Placed& block, std::span<const Placed> segments) {
  std::uint64_t covered = block.address;
  bool moved = true;
  while (covered < end_of(block) && moved) {
    moved = false;
    for (const Placed& segment : segments) {
      const bool lives = segment.born <= block.born && segment.died >= block.died;
      if (!lives || segment.address > covered || end_of(segment) <= covered) continue;
      covered = end_of(segment);
      moved = true;
    }
  }
  return covered >= end_of(block);
}

}  // namespace

std::vector<std::string> check_placement(std::span<const Placed> blocks, std::span<const Placed> segments,
                                         std::size_t most) {
  std::vector<std::string> wrong;
  add_overlaps("blocks", blocks, wrong);
  add_overlaps("segments", segments, wrong);
  for (const Placed& block : blocks) {
    if (!is_covered(block, segments)) wrong.push_back("a block lies in no segment: " + describe(block));
  }
  if (wrong.size() > most) wrong.resize(most);
  return wrong;
}

}  // namespace vramfit::verify
