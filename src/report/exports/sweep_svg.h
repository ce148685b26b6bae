// A sweep's maps and lines as one SVG file that stands alone.
#ifndef VRAMFIT_REPORT_EXPORTS_SWEEP_SVG_H
#define VRAMFIT_REPORT_EXPORTS_SWEEP_SVG_H

#include <string>

#include "report/page/sweep_facts.h"

namespace vramfit::report::exports {

// `title` is plain text: "run 12". Empty where there is nothing to draw.
std::string sweep_to_svg(const page::SweepFacts& facts, const std::string& title);

}  // namespace vramfit::report::exports

#endif
