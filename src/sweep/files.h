// A sweep's folder: everything that is needed to go on after any end.
//
//   sweep.json            the definition (SweepSpec)
//   trials/K.plan.json    the plan applied to trial K, where there is one
//   trials/K.json         what `vramfit run --json` wrote; written whole or not at all, so it says "done"
//   trials/K.log          what the job printed
//   trials/K.run          the uuid by which the history has it
//   job.sh  slurm.json    on a cluster
#ifndef VRAMFIT_SWEEP_FILES_H
#define VRAMFIT_SWEEP_FILES_H

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "model/sweep.h"

namespace vramfit::sweep {

class SweepFolder {
 public:
  explicit SweepFolder(std::filesystem::path path) : path_(std::move(path)) {}

  // Makes it, or takes up one with the same definition, whatever time its trials had. A folder of another sweep is
  // refused, with what differs.
  base::Result<void> prepare(const model::SweepSpec& spec) const;
  base::Result<model::SweepSpec> read_spec() const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path plan_file(std::size_t trial) const { return of(trial, ".plan.json"); }
  std::filesystem::path result_file(std::size_t trial) const { return of(trial, ".json"); }
  std::filesystem::path log_file(std::size_t trial) const { return of(trial, ".log"); }

  // The combination that a trial is. Trials of a search come into being as it goes: their values are kept beside them.
  base::Result<void> write_values(std::size_t trial, const std::vector<std::string>& values) const;
  base::Result<std::vector<std::string>> read_values(std::size_t trial) const;
  // The uuid of a trial's run in the history; empty: it has none.
  base::Result<void> write_run(std::size_t trial, const std::string& uuid) const;
  std::string read_run(std::size_t trial) const;
  // How many trials have been given a number.
  std::size_t count() const;

  // Nothing while there is none.
  std::optional<model::TrialResult> read_result(std::size_t trial) const;
  // Writes for a trial whose process could not.
  base::Result<void> write_result(std::size_t trial, const model::TrialResult& result) const;

 private:
  std::filesystem::path of(std::size_t trial, const char* ending) const;
  std::filesystem::path path_;
};

}  // namespace vramfit::sweep

#endif
