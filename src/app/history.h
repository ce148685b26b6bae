// What the history's verbs do with the stored runs.
#ifndef VRAMFIT_APP_HISTORY_H
#define VRAMFIT_APP_HISTORY_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/report_sweep.h"
#include "base/error.h"
#include "model/stored_run.h"
#include "store/store.h"

namespace vramfit::app {

struct Imported {
  std::int64_t taken = 0;
  std::int64_t known = 0;  // were here already
};

class History {
 public:
  static base::Result<History> open();
  store::Store& store() { return store_; }

  // Whole runs: these, in this order, or with none named all that the filter takes, oldest first.
  base::Result<std::vector<model::StoredRun>> load(const std::vector<std::int64_t>& numbers,
                                                   const model::RunFilter& filter);
  // For ReportRequest: what can't be looked up is told like what is not there. Lives no longer than the history.
  FindRun find_run();
  base::Result<Imported> import_file(const std::string& file);

 private:
  explicit History(store::Store store) : store_(std::move(store)) {}
  store::Store store_;
};

}  // namespace vramfit::app

#endif
