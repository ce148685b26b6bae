// What the history's verbs do with the stored runs.
#ifndef VRAMFIT_HISTORY_HISTORY_H
#define VRAMFIT_HISTORY_HISTORY_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/stored_run.h"
#include "model/sweep.h"
#include "store/store.h"

namespace vramfit::history {

struct Imported {
  std::int64_t taken = 0;
  std::int64_t known = 0;  // were here already
};

// The number here of a run by its uuid; 0: there is none.
using FindRun = std::function<std::int64_t(std::string_view uuid)>;

class History {
 public:
  static base::Result<History> open();
  store::Store& store() { return store_; }

  // Whole runs: these, in this order, or with none named all that the filter takes, oldest first.
  base::Result<std::vector<model::StoredRun>> load(const std::vector<std::int64_t>& numbers,
                                                   const model::RunFilter& filter);
  // The lookup for ReportRequest: what can't be looked up is told like what is not there. Lives no longer than the
  // history.
  FindRun find_run();
  base::Result<Imported> import_file(const std::string& file);

 private:
  explicit History(store::Store store) : store_(std::move(store)) {}
  store::Store store_;
};

// The sweep that a run of the verb `sweep` was; an error for a run of another verb, or a result that can't be read.
base::Result<model::SweepResult> read_sweep(const model::StoredRun& run);

}  // namespace vramfit::history

#endif
