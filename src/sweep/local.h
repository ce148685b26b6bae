// Trials on this machine: each a `vramfit run` of its own, several at once. A trial that hangs is ended with everything
// it started.
#ifndef VRAMFIT_SWEEP_LOCAL_H
#define VRAMFIT_SWEEP_LOCAL_H

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "sweep/sweep.h"
#include "sweep/variables.h"

namespace vramfit::sweep {

// The words of the process that runs one trial: this program's `run`.
std::vector<std::string> trial_words(const std::string& program, const model::SweepSpec& spec,
                                     const SweepFolder& folder, std::size_t trial, const TrialCommand& command);

// What this program is called with: /proc/self/exe.
base::Result<std::string> own_program();

// How many jobs the cores allow, and the memory at 1.5 GiB for each.
std::size_t default_jobs();

class LocalTrialRunner final : public TrialRunner {
 public:
  LocalTrialRunner(const model::SweepSpec& spec, const SweepFolder& folder, std::string program, std::size_t jobs,
                   const base::Clock& clock)
      : spec_(spec), folder_(folder), program_(std::move(program)), jobs_(jobs), clock_(clock) {}
  ~LocalTrialRunner() override { cancel(); }

  std::size_t room() const override { return jobs_ - running_.size(); }
  base::Result<void> start(const std::vector<std::size_t>& trials) override;
  base::Result<std::vector<std::size_t>> wait() override;
  void cancel() override;

 private:
  struct Running {
    std::size_t trial;
    std::int64_t began_ns;
  };
  base::Result<void> start_one(std::size_t trial);
  void explain_failure(std::size_t trial, int status);
  void end_overdue(pid_t process, const Running& running);

  const model::SweepSpec& spec_;
  const SweepFolder& folder_;
  std::string program_;
  std::size_t jobs_;
  const base::Clock& clock_;
  std::map<pid_t, Running> running_;
};

}  // namespace vramfit::sweep

#endif
