// Whether the best plan of a search stands: it is run beyond the training loop and compared with the job as it is, and
// makes way for the next where it does not.
#ifndef VRAMFIT_APP_FIT_BEST_PLAN_CHECK_H
#define VRAMFIT_APP_FIT_BEST_PLAN_CHECK_H

#include <filesystem>
#include <string>
#include <vector>

#include "app/equivalence/verifier.h"
#include "app/fit/context.h"
#include "app/fit/kept_proofs.h"
#include "plan/technique.h"

namespace vramfit::app {

class BestPlanCheck {
 public:
  explicit BestPlanCheck(FitContext& fit) : fit_(fit) {}

  // What searches prove by: no plan is run twice.
  plan::Prover& prove_by(plan::Prover& prover) {
    proofs_.prove_by(prover);
    return proofs_;
  }
  int runs() const { return proofs_.runs(); }

  // Runs the best plan beyond the training loop; one that runs out there makes way for the next. Plan files are written
  // to `folder`. `verifier`: what the comparison that follows needs of the job as it is is begun meanwhile.
  void confirm_best(const std::filesystem::path& folder, Verifier* verifier = nullptr);
  // Drops plans that do not run to the end of the script or that train something else, until the best one does neither.
  void check_best(const std::filesystem::path& folder);

  // No plan is left because all use a technique that changes the training. Whether to search again without it.
  bool leaves_out_culprits(std::vector<const plan::Technique*>& techniques);
  // The best plan was dropped and no other has been run yet. Whether to go on searching with what is known now.
  bool looks_further();

 private:
  double comparison_seconds() const;
  bool makes_way(Verifier& verifier);
  void note_interrupt(const base::Error& error);

  FitContext& fit_;
  KeptProofs proofs_;
  bool was_overruled_ = false;         // the best plan was dropped, and none was run in its place
  std::vector<std::string> culprits_;  // techniques that were found to train something else
};

}  // namespace vramfit::app

#endif
