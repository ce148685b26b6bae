// What loggers, launchers and containers put before a line: times, levels, ranks, host and process names.
#ifndef VRAMFIT_INGEST_TEXT_LOG_PREFIX_H
#define VRAMFIT_INGEST_TEXT_LOG_PREFIX_H

#include <string_view>

#include "model/evidence.h"

namespace vramfit::ingest {

struct LogPrefix {
  std::size_t length = 0;  // bytes of the line that are prefix
  model::Speaker speaker;
};

// A prefix is known by its shape: "2024-05-01 10:00:00,123", "[rank3]:", "[default1]:", "[1,3]<stderr>:", "3: " (srun
// -l), "Nov 21 10:02:05 host python[77]:", "2024-05-01T10:00:00.0Z stderr F", "trainer-1  | ", "(RayTrainWorker
// pid=9)", "ERROR 03-23 04:09:00 [core.py:390]", "| ERROR |", "> ". The blanks that a line itself starts with stay.
LogPrefix parse_log_prefix(std::string_view line);

}  // namespace vramfit::ingest

#endif
