// What the cards did lately, for graphs: a ring of samples per card.
#ifndef VRAMFIT_TUI_WATCH_HISTORY_H
#define VRAMFIT_TUI_WATCH_HISTORY_H

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/machine.h"

namespace vramfit::tui {

// Shares of 1; nothing where there was no reading.
struct HistoryPoint {
  std::optional<float> memory, busy;
};

class WatchHistory {
 public:
  explicit WatchHistory(std::size_t most = 4096) : most_(most) {}

  void add(const model::MachineSample& sample);
  // The last `columns` points, newest last, each the highest of `stride` samples; shorter while history is.
  std::vector<HistoryPoint> last(const std::string& card, int columns, int stride) const;

 private:
  std::size_t most_;
  std::map<std::string, std::deque<HistoryPoint>> points_;
};

}  // namespace vramfit::tui

#endif
