// Trials on a cluster that Slurm runs: job arrays, one task a trial. The sweep's folder must be seen by all nodes.
#ifndef VRAMFIT_SWEEP_SLURM_H
#define VRAMFIT_SWEEP_SLURM_H

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "sweep/slurm_text.h"
#include "sweep/sweep.h"

namespace vramfit::sweep {

struct SlurmOptions {
  std::vector<std::string> words;  // for sbatch: --partition=gpu, --gres=gpu:1
  std::size_t at_once = 0;         // tasks of one array that may run together; 0: as Slurm likes
};

class SlurmTrialRunner final : public TrialRunner {
 public:
  // Takes up the jobs that an earlier sweep in this folder submitted and that Slurm still knows.
  static base::Result<SlurmTrialRunner> create(const SweepFolder& folder, std::string program, SlurmOptions options,
                                               const base::Clock& clock);

  std::size_t room() const override;
  base::Result<void> start(const std::vector<std::size_t>& trials) override;
  base::Result<std::vector<std::size_t>> wait() override;
  void cancel() override;

  // What sbatch runs. The folder and the program are quoted for the shell.
  std::string job_script() const;

 private:
  SlurmTrialRunner(const SweepFolder& folder, std::string program, SlurmOptions options, const base::Clock& clock)
      : folder_(folder), program_(std::move(program)), options_(std::move(options)), clock_(clock) {}
  base::Result<void> read_jobs();
  base::Result<void> write_jobs() const;
  base::Result<std::set<std::size_t>> ask_queue();

  const SweepFolder& folder_;
  std::string program_;
  SlurmOptions options_;
  const base::Clock& clock_;
  SlurmJobs jobs_;                    // the array that each trial was last submitted in
  std::set<std::size_t> running_;     // submitted, not ended
  std::int64_t silent_since_ns_ = 0;  // Slurm has not answered since; 0: it does
};

}  // namespace vramfit::sweep

#endif
