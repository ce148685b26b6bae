// Places for the boxes of a directed graph and ways for its lines, in layers from top to bottom (after Sugiyama, Tagawa
// and Toda, 1981).
//
//      [input]           layer 0      A box lies below everything it depends on. A line that skips layers gets a place
//         |              of its own in each (o), so that it passes between boxes and never through one.
//      [conv1]           layer 1
//       |    \                        A line against the flow (a recurrent module) is routed like the others.
//    [conv2]  o          layer 2
//       |    /
//      [add]             layer 3
#ifndef VRAMFIT_REPORT_PAGE_NETWORK_LAYOUT_H
#define VRAMFIT_REPORT_PAGE_NETWORK_LAYOUT_H

#include <cstddef>
#include <vector>

namespace vramfit::report::page {

struct BoxSize {
  double width = 0, height = 0;
};

struct Line {
  std::size_t from = 0, to = 0;
};

struct Corner {
  double x = 0, y = 0;  // of the upper left corner
};

struct Route {
  std::size_t from = 0, to = 0;
  bool is_backward = false;    // against the flow
  std::vector<Corner> points;  // from box to box; downwards, for backward ones upwards
};

struct Layout {
  std::vector<Corner> boxes;  // as the sizes
  std::vector<Route> routes;  // as the lines, without those from a box to itself
  double width = 0, height = 0;
};

struct LayoutSpacing {
  double between_boxes = 24, between_layers = 34, way_width = 12, margin = 8;
};

Layout lay_out(const std::vector<BoxSize>& sizes, const std::vector<Line>& lines, const LayoutSpacing& spacing = {});

}  // namespace vramfit::report::page

#endif
