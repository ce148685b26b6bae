// Runs a job's first optimizer steps with and without a plan, values computed, and compares them.
//
//   small   batches of a few samples: two in each micro-batch of the plan, at most four micro-batches; of texts every
//           n-th token and of images every n-th row and column, or all where the script does not work with so few
//   whole   as the script and the plan have them, where the small ones could not be laid side by side: a trainer that
//           makes its batches itself
#ifndef VRAMFIT_APP_EQUIVALENCE_VERIFIER_H
#define VRAMFIT_APP_EQUIVALENCE_VERIFIER_H

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "facts/training_record.h"
#include "job/run.h"
#include "model/equivalence.h"
#include "model/plan.h"

namespace vramfit::app {

struct Verified {
  model::Equivalence equivalence;
  bool refused = false;  // the plan does not apply to the job
};

// A plan with the same techniques over fewer samples, and what the two runs are asked for.
struct SmallPlan {
  model::Plan plan;
  job::FirstSteps first;
};
SmallPlan shrink(const model::Plan& plan);

// Holds the job's own runs: the same serve several plans.
class Verifier {
 public:
  // Only the cards, the command and how to run it are used of `request`. `folder` is for plan files; the caller removes
  // it.
  Verifier(job::RunRequest request, std::filesystem::path folder, job::Runner& runner, const base::Clock& clock);

  // Takes no longer than `seconds`; infinite: as long as it takes. An error means that no run was possible
  // (interrupted); whatever becomes of the job is an answer.
  base::Result<Verified> compare(const model::Plan& plan, double seconds,
                                 const std::function<void(std::string_view)>& say);

  // Starts both runs of a comparison that `compare` will make of the same plan and the same seconds, where there are
  // processors for them: until then somebody else may run what waits for no answer of theirs.
  void begin(const model::Plan& plan, double seconds);
  // Waits for it, or runs it, and starts the same steps with the plan: what `compare` will wait for.
  void begin_with(const model::Plan& plan, double seconds, const std::function<void(std::string_view)>& say);

  int runs() const { return runs_; }
  const std::vector<std::string>& untested() const { return untested_; }  // of the runs: model::RunResult has it

 private:
  // One run's record, or why there is none.
  struct Attempt {
    facts::TrainingRecord record;
    std::string obstacle;
    bool refused = false;
    bool may_help_whole = false;    // what it failed over, whole batches may not
    std::vector<std::string> kept;  // of what was not taken whole: "16 tokens of each text"
  };
  struct BegunWith {
    model::Plan plan;  // the small one
    job::RunRequest request;
  };
  job::RunRequest request_of(const job::FirstSteps& first, double seconds) const;
  base::Result<void> give(const model::Plan& plan, job::RunRequest& request);
  void start_with(const SmallPlan& small, const job::FirstSteps& first, double seconds);
  base::Result<Attempt> run(const job::RunRequest& request);
  base::Result<Attempt> run_as_is(const job::FirstSteps& first, double seconds);
  base::Result<Attempt> run_with(const SmallPlan& small, const job::FirstSteps& first);
  base::Result<Verified> compare_once(const SmallPlan& small, const model::Plan& plan,
                                      const std::function<void(std::string_view)>& say);
  void note(const Attempt& attempt);
  double left() const;

  job::RunRequest request_;
  const std::filesystem::path folder_;
  job::Runner& runner_;
  const base::Clock& clock_;
  std::int64_t started_ns_ = 0;
  double seconds_ = 0;
  bool may_help_whole_ = false;    // what the last comparison failed over, whole batches may not
  std::vector<std::string> kept_;  // of what the last runs did not take whole
  std::vector<std::pair<job::FirstSteps, Attempt>> as_is_;
  std::optional<job::RunRequest> begun_;  // of the job as it is
  std::optional<BegunWith> begun_with_;
  int plan_files_ = 0;
  int runs_ = 0;
  std::vector<std::string> untested_;
};

}  // namespace vramfit::app

#endif
