// The highest of what was seen of each card while a command ran.
#ifndef VRAMFIT_WATCH_PEAKS_H
#define VRAMFIT_WATCH_PEAKS_H

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/command_peaks.h"
#include "model/machine.h"

namespace vramfit::watch {

class PeakCollector {
 public:
  // `is_own`: which processes are the command's own.
  explicit PeakCollector(std::function<bool(const model::ProcessReading&)> is_own) : is_own_(std::move(is_own)) {}

  // The first sample is from before the command began.
  void add(const model::MachineSample& sample, double seconds);
  // Exact figures of a virtual card whose session the command made.
  void set_exact(const std::string& uuid, std::int64_t peak_bytes);

  std::vector<model::CardPeak> cards() const;
  std::int64_t samples() const { return samples_; }
  double longest_gap_seconds() const { return longest_gap_; }

 private:
  struct OwnPeak {
    model::CardPeak peak;
    std::set<std::int64_t> pids;
  };
  std::function<bool(const model::ProcessReading&)> is_own_;
  std::map<std::string, OwnPeak> seen_;
  std::vector<std::string> order_;
  std::int64_t samples_ = 0;
  double last_seconds_ = 0, longest_gap_ = 0;
};

}  // namespace vramfit::watch

#endif
