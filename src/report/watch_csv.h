// Samples as CSV (RFC 4180): one row per card and sample, and one per process and card. An absent reading is an empty
// field.
#ifndef VRAMFIT_REPORT_WATCH_CSV_H
#define VRAMFIT_REPORT_WATCH_CSV_H

#include <string>

#include "model/machine.h"

namespace vramfit::report {

// The heading, with its line end.
std::string csv_heading();
std::string machine_to_csv(const model::MachineSample& sample);

}  // namespace vramfit::report

#endif
