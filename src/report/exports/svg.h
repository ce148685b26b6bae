// Charts as SVG files that stand alone: light, 960 units wide, with colours and sizes of their own.
#ifndef VRAMFIT_REPORT_EXPORTS_SVG_H
#define VRAMFIT_REPORT_EXPORTS_SVG_H

#include <string>
#include <vector>

#include "report/exports/facts.h"

namespace vramfit::report::exports {

// Of one: memory over time, a picture for each card that has any. Of several: their peaks as bars. Empty where there is
// nothing to draw.
std::string charts_to_svg(const std::vector<ExportFacts>& exported);

}  // namespace vramfit::report::exports

#endif
