// The peaks of a run counted again, slowly and in another way than src/liveness: from the sizes of the blocks and
// segments that live, not from the sums that PyTorch told with them. For tests and fuzzers.
#ifndef VRAMFIT_VERIFY_PEAKS_H
#define VRAMFIT_VERIFY_PEAKS_H

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/run_result.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::verify {

struct CountedPeaks {
  base::Bytes allocated, reserved;
  friend bool operator==(const CountedPeaks&, const CountedPeaks&) = default;
};

// Counts the peaks of each card. Processes share a clock, by which they are merged; what one holds goes with its end.
std::map<int, CountedPeaks> count_peaks(std::span<const model::Recording> recordings);

// The peaks of the result that are not what was counted, a sentence each; empty: all of it agrees.
std::vector<std::string> check_peaks(std::span<const model::Recording> recordings, const model::RunResult& result);

}  // namespace vramfit::verify

#endif
