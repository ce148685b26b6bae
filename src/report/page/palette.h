// Colours by the thing they stand for. Eight colours that people of any colour vision tell apart (Okabe and Ito, 2008),
// plain for what PyTorch's tensors hold, dotted for what stands beside a model, hatched for what lies around them; text
// says the same everywhere.
#ifndef VRAMFIT_REPORT_PAGE_PALETTE_H
#define VRAMFIT_REPORT_PAGE_PALETTE_H

#include <string>
#include <string_view>

namespace vramfit::report::page {

// A value for an SVG fill.
std::string fill_of(std::string_view owner);

// A small square of that fill.
std::string swatch(std::string_view owner);

// The patterns that fills refer to: once on a page.
std::string pattern_definitions();

}  // namespace vramfit::report::page

#endif
