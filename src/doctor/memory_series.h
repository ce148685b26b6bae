// Memory against steps, from whatever printed it: training logs, summaries, repeated messages.
#ifndef VRAMFIT_DOCTOR_MEMORY_SERIES_H
#define VRAMFIT_DOCTOR_MEMORY_SERIES_H

#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/evidence.h"

namespace vramfit::doctor {

struct SeriesPoint {
  model::SourceLine at;
  double step = 0;    // as logged; without steps, the position
  double amount = 0;  // bytes, or percent of the card
  friend bool operator==(const SeriesPoint&, const SeriesPoint&) = default;
};

struct MemorySeries {
  std::string what;  // "allocated", "max_allocated", "reserved", "memory"
  std::string phase;
  bool is_peak = false;   // a running maximum: it never falls
  bool is_share = false;  // amounts are percent of the card's memory
  std::vector<SeriesPoint> points;
  friend bool operator==(const MemorySeries&, const MemorySeries&) = default;
};

// How a series moves.
//
//   grows   ....::::||||   rises through both of its halves, at about the same rate
//   settles ..::||||||||   rose at first, level in its second half
//   flat    ||||||||||||
//   varies  |:|.:|:.||.:   rises and falls
enum class Trend { kTooShort, kGrows, kSettles, kFlat, kVaries };

struct TrendOf {
  Trend trend = Trend::kTooShort;
  double per_step = 0;  // of the straight line that fits best
  double first = 0, last = 0;
};

// An amount of the series in words: "4.10 GiB", "61 % of the card".
std::string show(const MemorySeries& series, double amount);

// Whether its readings are trials of sizes, each a multiple of the one before: what they need says nothing of growth.
bool tries_sizes(const MemorySeries& series);

// What the lines of a series say of inputs that get larger with it, "seq_len 128, then 304": then the series may follow
// them. Empty: nothing of the kind.
std::string find_rising_input(const MemorySeries& series);

TrendOf find_trend(const MemorySeries& series);

std::vector<MemorySeries> find_series(const model::Evidence& texts);

}  // namespace vramfit::doctor

#endif
