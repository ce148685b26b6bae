// What runs have shown, kept for the searches of one fit: no plan is run twice, and what its confirmation showed
// counts.
#ifndef VRAMFIT_APP_FIT_KEPT_PROOFS_H
#define VRAMFIT_APP_FIT_KEPT_PROOFS_H

#include <utility>
#include <vector>

#include "plan/search/search.h"

namespace vramfit::app {

class KeptProofs final : public plan::Prover {
 public:
  // Sets the prover of the search that follows; what was proven before stays.
  void prove_by(plan::Prover& prover) { prover_ = &prover; }

  base::Result<plan::Proof> prove(const model::Plan& plan, double seconds_left) override;
  bool knows(const model::Plan& plan) const override;
  // A plan was proven, and a later run of it showed otherwise.
  void overrule(const model::Plan& plan, plan::Proof proof);

  int runs() const { return runs_; }

 private:
  plan::Prover* prover_ = nullptr;
  std::vector<std::pair<std::vector<model::Change>, plan::Proof>> known_;
  int runs_ = 0;
};

}  // namespace vramfit::app

#endif
