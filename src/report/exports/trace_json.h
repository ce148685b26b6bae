// Chrome's trace event format, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
#ifndef VRAMFIT_REPORT_EXPORTS_TRACE_JSON_H
#define VRAMFIT_REPORT_EXPORTS_TRACE_JSON_H

#include <string>
#include <string_view>
#include <vector>

#include "report/exports/facts.h"

namespace vramfit::report::exports {

// A card of a run is a process there: its counters, its phases as slices, marks and OOMs as instants.
std::string trace_to_json(const std::vector<ExportFacts>& exported, std::string_view version);

}  // namespace vramfit::report::exports

#endif
