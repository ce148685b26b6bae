// SVG to PNG by librsvg and cairo, which are opened when a picture is asked for: nothing else needs them.
#ifndef VRAMFIT_VIEWS_SVG_RASTER_H
#define VRAMFIT_VIEWS_SVG_RASTER_H

#include <string>

#include "base/error.h"

namespace vramfit::views {

// The bytes of a PNG file, twice as wide and high as the SVG's own units. An error where the libraries are not
// installed, or refuse.
base::Result<std::string> svg_to_png(const std::string& svg);

}  // namespace vramfit::views

#endif
