// Notes runs in the history as the verbs make them. The history never gets in a job's way: what goes wrong with it is
// said once, and the run goes on unnoted.
#ifndef VRAMFIT_HISTORY_RUN_BOOK_H
#define VRAMFIT_HISTORY_RUN_BOOK_H

#include <cstdint>
#include <expected>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/progress.h"
#include "base/subprocess.h"
#include "model/finding.h"
#include "model/fit_result.h"
#include "model/run_result.h"
#include "model/stored_run.h"
#include "store/store.h"

namespace vramfit::history {

// The history of this user. An error when there is none.
base::Result<store::Store> open_store();

class RunBook {
 public:
  // Finds room for the new run: the oldest runs beyond VRAMFIT_KEEP_RUNS (2000) that nobody named or tagged go.
  static RunBook begin(const model::RunStart& start, base::ProgressSink& progress);

  void finish(const model::RunEnd& end, base::ProgressSink& progress);
  // Notes that the verb itself could not go on, and hands the error on; what was interrupted is left as that.
  std::unexpected<base::Error> fail(const base::Error& error, base::ProgressSink& progress);
  std::int64_t number() const { return number_; }  // 0: not noted
  std::string uuid();                              // stays the same wherever the run is imported; empty: not noted

 private:
  std::optional<store::Store> store_;
  std::int64_t number_ = 0;
};

// The parts of a result that the history keeps. `json` is what --json writes.
model::RunEnd summarize(const model::RunResult& result, std::string json);
// Summarizes a search: the best plan's peaks where there is one, else those of the job as it is.
model::RunEnd summarize(const model::FitResult& result, std::string json);
model::RunEnd summarize(const model::Diagnosis& diagnosis, double wall_seconds, std::string json);

}  // namespace vramfit::history

#endif
