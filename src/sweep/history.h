// A sweep and its trials in the history, and the trial that a cluster's job is to run.
#ifndef VRAMFIT_SWEEP_HISTORY_H
#define VRAMFIT_SWEEP_HISTORY_H

#include <string>
#include <vector>

#include "history/run_book.h"
#include "ingest/sweep_file.h"
#include "model/sweep.h"
#include "sweep/files.h"

namespace vramfit::sweep {

class SweepHistory {
 public:
  SweepHistory(const model::SweepSpec& spec, const std::string& version, base::ProgressSink& progress);
  // A trial that has ended.
  void note(const SweepFolder& folder, const model::Trial& trial, base::ProgressSink& progress);
  void finish(const model::SweepResult& result, const std::string& json, base::ProgressSink& progress);

 private:
  model::SweepSpec spec_;
  model::RunStart start_;
  history::RunBook book_;
};

base::Result<ingest::SweepFile> read_sweep_file(const std::string& path);

// The words of `vramfit run` for a trial of the sweep in this folder.
base::Result<std::vector<std::string>> words_of_trial(const SweepFolder& folder, std::size_t trial);

}  // namespace vramfit::sweep

#endif
