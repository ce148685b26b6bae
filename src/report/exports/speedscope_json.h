// speedscope's file format (speedscope.app): flame graphs of what was alive at the peak.
#ifndef VRAMFIT_REPORT_EXPORTS_SPEEDSCOPE_JSON_H
#define VRAMFIT_REPORT_EXPORTS_SPEEDSCOPE_JSON_H

#include <string>
#include <string_view>
#include <vector>

#include "report/exports/facts.h"

namespace vramfit::report::exports {

// One profile for each of the facts' profiles: a sample is a stack, its weight bytes.
std::string profiles_to_speedscope(const std::vector<ExportFacts>& exported, std::string_view version);

}  // namespace vramfit::report::exports

#endif
