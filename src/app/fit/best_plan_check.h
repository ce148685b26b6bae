// Whether the best plan of a search stands: it is run beyond the training loop and compared with the job as it is, and
// makes way for the next where it does not.
#ifndef VRAMFIT_APP_FIT_BEST_PLAN_CHECK_H
#define VRAMFIT_APP_FIT_BEST_PLAN_CHECK_H

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/equivalence/verifier.h"
#include "app/fit/context.h"
#include "app/fit/kept_proofs.h"
#include "app/fit/prover.h"
#include "plan/technique.h"

namespace vramfit::app {

class BestPlanCheck {
 public:
  // Plan files are written to `folder`.
  BestPlanCheck(FitContext& fit, std::filesystem::path folder);

  // What searches prove by: no plan is run twice.
  plan::Prover& prove_by(plan::Prover& prover) {
    proofs_.prove_by(prover);
    return proofs_;
  }
  int runs() const { return proofs_.runs() + verifier_.runs(); }

  // A plan is about to be run, and is foreseen to fit or not: what a comparison of it would need of the job as it is is
  // begun beside it, and the run that would confirm it.
  void expect(const model::Plan& plan, bool is_foreseen);
  // Runs the best plan beyond the training loop; one that runs out there makes way for the next. Where it will be
  // compared, that run is begun beside.
  void confirm_best(bool is_compared);
  // Drops plans that do not run to the end of the script or that train something else, until the best one does neither.
  void check_best();

  // No plan is left because all use a technique that changes the training. Whether to search again without it.
  bool leaves_out_culprits(std::vector<const plan::Technique*>& techniques);
  // The best plan was dropped and no other has been run yet. Whether to go on searching with what is known now.
  bool looks_further();

 private:
  bool is_confirmed_by_a_run() const;
  RunProver& confirmer();
  double comparison_seconds() const;
  std::function<void(std::string_view)> say() const;
  bool makes_way();
  void note_interrupt(const base::Error& error);

  FitContext& fit_;
  const std::filesystem::path folder_;
  KeptProofs proofs_;
  Verifier verifier_;                   // what it ran of the job as it is serves all plans
  std::optional<RunProver> confirmer_;  // of what runs beyond the training loop, for the span of the answer
  bool was_overruled_ = false;          // the best plan was dropped, and none was run in its place
  std::vector<std::string> culprits_;   // techniques that were found to train something else
};

}  // namespace vramfit::app

#endif
