// What the techniques of an evaluation share: whether it is what runs out, and what a measuring run says of it.
#ifndef VRAMFIT_PLAN_EVALUATION_H
#define VRAMFIT_PLAN_EVALUATION_H

#include <string_view>

#include "plan/technique.h"

namespace vramfit::plan {

// The batches that an evaluation is given; null where no loader was seen.
const model::LoaderFacts* find_evaluation_loader(const model::Job& job);

bool is_evaluation(const model::StagePeak& moment);  // of a phase `validate` or `test`
bool trains(const model::Job& job);

// Most that an evaluation holds, with the overhead; 0: there is none.
Bytes evaluation_needs(const model::Job& job);
// Applicable where the job evaluates and that is (near) too large for the card; with the numbers where it is not.
Applicability check_evaluation(const model::Job& job, const Target& target);
// Checks techniques that change weights: where, besides, nothing is trained.
Applicability check_evaluation_alone(const model::Job& job, const Target& target);

// What becomes of one moment's holdings, as shares of what they were.
struct HoldingShares {
  double weights = 1, buffers = 1, activations = 1, workspaces = 1, temporaries = 1;
};
void scale_holdings(model::Holdings& holdings, const HoldingShares& shares);

// The shares in a run with the technique alone (Job::measured, under `key`); `assumed` where there was none, or it has
// no such moment.
HoldingShares measured_shares(const model::Job& job, std::string_view key, const model::StagePeak& moment,
                              const HoldingShares& assumed);
bool is_measured(const model::Job& job, std::string_view key);

}  // namespace vramfit::plan

#endif
