// `watch --record` in the history: a numbered run that names the recording, how long it is and what each card held at
// most. A watch that is killed stays there as interrupted.
#ifndef VRAMFIT_WATCH_BOOK_H
#define VRAMFIT_WATCH_BOOK_H

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/progress.h"
#include "history/run_book.h"
#include "model/machine.h"
#include "model/run_result.h"

namespace vramfit::watch {

// What is kept of the samples: of each card, in the order in which they were met, the most that was used.
class WatchTotals {
 public:
  void add(const model::MachineSample& sample);
  model::RunEnd summarize(const std::filesystem::path& recording) const;

 private:
  std::vector<std::string> cards_;  // UUIDs of devices_
  std::vector<model::CardFigures> devices_;
  std::int64_t samples_ = 0;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
};

class WatchBook {
 public:
  static WatchBook begin(const std::filesystem::path& recording, std::string version, base::ProgressSink& progress);

  void add(const model::MachineSample& sample) { totals_.add(sample); }
  void finish(base::ProgressSink& progress) { book_.finish(totals_.summarize(recording_), progress); }
  std::int64_t number() const { return book_.number(); }  // 0: not noted

 private:
  std::filesystem::path recording_;
  history::RunBook book_;
  WatchTotals totals_;
};

}  // namespace vramfit::watch

#endif
