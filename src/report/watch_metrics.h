// A sample in Prometheus's text format, version 0.0.4. A reading that is absent has no line: absent is not 0.
#ifndef VRAMFIT_REPORT_WATCH_METRICS_H
#define VRAMFIT_REPORT_WATCH_METRICS_H

#include <string>

#include "model/machine.h"

namespace vramfit::report {

struct MetricsOptions {
  bool processes = false;  // one series per process and card: many, and with names of users and programs
};

std::string machine_to_metrics(const model::MachineSample& sample, const MetricsOptions& options);

}  // namespace vramfit::report

#endif
