// Peaks of runs in the order in which they were made, and runs that belong together.
#ifndef VRAMFIT_MODEL_PEAK_SERIES_H
#define VRAMFIT_MODEL_PEAK_SERIES_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

struct PeakPoint {
  std::int64_t number = 0;          // of the run
  std::optional<base::Bytes> peak;  // of its fullest card; nothing: it told of none
  bool ran_out = false;             // of memory: the most it got to
  friend bool operator==(const PeakPoint&, const PeakPoint&) = default;
};

struct PeakSeries {
  std::string title;              // "train.py"
  std::vector<PeakPoint> points;  // oldest first
};

// The peaks of a list of runs by what they ran.
struct PeaksByScript {
  std::vector<PeakSeries> series;
  std::vector<std::size_t> series_of;  // of each run of the list
};

struct RunGroup {
  std::string title;              // plain text
  std::vector<std::size_t> runs;  // of the list, in its order
  PeakSeries peaks;
};

}  // namespace vramfit::model

#endif
