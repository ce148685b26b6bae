// The longest common subsequence of two sequences, as far as the effort goes.
#ifndef VRAMFIT_COMPARE_SEQUENCE_DIFF_H
#define VRAMFIT_COMPARE_SEQUENCE_DIFF_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vramfit::compare {

struct Match {
  std::size_t first = 0;   // index into the first sequence
  std::size_t second = 0;  // index into the second
  bool operator==(const Match&) const = default;
};

// Rising in both. E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), in linear space. Where two
// stretches have next to nothing in common, the path that came farthest after `most_edits` is taken; 0: chosen so that
// half a million events on both sides take seconds.
std::vector<Match> common_subsequence(std::span<const std::uint64_t> first, std::span<const std::uint64_t> second,
                                      std::ptrdiff_t most_edits = 0);

}  // namespace vramfit::compare

#endif
