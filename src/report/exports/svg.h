// Charts as SVG files that stand alone: light, 960 units wide, with colours and sizes of their own.
#ifndef VRAMFIT_REPORT_EXPORTS_SVG_H
#define VRAMFIT_REPORT_EXPORTS_SVG_H

#include <string>
#include <string_view>
#include <vector>

#include "report/exports/facts.h"

namespace vramfit::report::exports {

// What stands inside <svg> as a whole file, with the colours of all charts.
std::string svg_document(int width, int height, std::string_view body);

// One run gives memory over time, a picture for each card that has any; a sweep its maps; several runs, peaks as bars.
// Empty where there is nothing to draw.
std::string charts_to_svg(const std::vector<ExportFacts>& exported);

}  // namespace vramfit::report::exports

#endif
