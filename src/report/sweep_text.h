// A sweep for a person: a line for each trial as it ends, then the map of what fits. 80 columns.
#ifndef VRAMFIT_REPORT_SWEEP_TEXT_H
#define VRAMFIT_REPORT_SWEEP_TEXT_H

#include <string>

#include "model/sweep.h"
#include "report/mark.h"

namespace vramfit::report {

std::string trial_line(const model::SweepSpec& spec, const model::Trial& trial, bool was_known);

// "[✓] batch 37 fits, 38 does not; both were run": of a sweep with a goal.
std::string largest_line(const model::SweepSpec& spec, const model::Largest& largest);
Mark sweep_verdict_mark(const model::SweepResult& result);
std::string sweep_verdict_line(const model::SweepResult& result);

std::string sweep_to_text(const model::SweepResult& result);

}  // namespace vramfit::report

#endif
