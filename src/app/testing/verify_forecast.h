// Forecasts of a job's plans, each counted again by src/verify from the records of one run.
#ifndef VRAMFIT_APP_TESTING_VERIFY_FORECAST_H
#define VRAMFIT_APP_TESTING_VERIFY_FORECAST_H

#include <string>
#include <vector>

#include "job/run.h"

namespace vramfit::app {

struct VerifiedForecasts {
  std::vector<std::string> lines;  // what was looked at: a plan each, and why others were not
  std::vector<std::string> wrong;
  int counted = 0, left_out = 0;
};

// Verifies the options of each technique, and pairs, that the planner plays and src/verify knows to count. `outcome`:
// that of the job as it is, with plenty of memory.
VerifiedForecasts verify_forecasts(const job::RunOutcome& outcome, const model::Card& card);

}  // namespace vramfit::app

#endif
