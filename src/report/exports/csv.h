// Memory over time as CSV (RFC 4180): one row for each moment of a card.
#ifndef VRAMFIT_REPORT_EXPORTS_CSV_H
#define VRAMFIT_REPORT_EXPORTS_CSV_H

#include <string>
#include <vector>

#include "report/exports/facts.h"

namespace vramfit::report::exports {

// of,card,seconds,phase,allocated_bytes,reserved_bytes,device_bytes,mark. An empty field: not known at that moment.
std::string counters_to_csv(const std::vector<ExportFacts>& exported);

}  // namespace vramfit::report::exports

#endif
