// A model as a picture: boxes with their memory, lines along which data flows. Every box is also a row of the table
// under the picture.
#ifndef VRAMFIT_REPORT_PAGE_NETWORK_DRAWING_H
#define VRAMFIT_REPORT_PAGE_NETWORK_DRAWING_H

#include <string>

#include "model/modules.h"

namespace vramfit::report::page {

// The whole of each model, and closed, what is in its larger parts. Empty where no operators were seen. `run` tells
// pictures of several runs apart.
std::string network_drawings(const model::ModuleTable& table, const std::string& run);

// The first model as an SVG file of its own. Empty where no operators were seen.
std::string network_svg(const model::ModuleTable& table);

}  // namespace vramfit::report::page

#endif
