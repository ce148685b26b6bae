#include "report/page/palette.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace vramfit::report::page {

namespace {

constexpr std::array<std::string_view, 8> kColors = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                                     "#56B4E9", "#D55E00", "#F0E442", "#8C8C8C"};

struct Paint {
  std::string_view owner;
  std::size_t color;
  bool is_hatched;
};

constexpr Paint kPaints[] = {
    {"weights", 0, false},   {"gradients", 5, false}, {"optimizer", 2, false},   {"activations", 1, false},
    {"inputs", 4, false},    {"buffers", 3, false},   {"temporaries", 6, false}, {"other tensors", 7, false},
    {"workspaces", 0, true}, {"loaded", 2, true},     {"cached", 4, true},       {"fragmented", 5, true},
    {"context", 3, true},    {"libraries", 1, true},  {"occupied", 7, true},     {"unexplained", 6, true},
};

}  // namespace

std::string fill_of(std::string_view owner) {
  for (const Paint& paint : kPaints) {
    if (paint.owner != owner) continue;
    return paint.is_hatched ? fmt::format("url(#hatch-{})", paint.color) : std::string(kColors[paint.color]);
  }
  return std::string(kColors.back());
}

std::string swatch(std::string_view owner) {
  return fmt::format(
      "<svg class=\"swatch\" viewBox=\"0 0 16 16\" aria-hidden=\"true\" focusable=\"false\"><rect x=\"1\" y=\"1\" "
      "width=\"14\" height=\"14\" rx=\"2\" fill=\"{}\" class=\"edge\"/></svg>",
      fill_of(owner));
}

std::string pattern_definitions() {
  std::string html = "<svg class=\"patterns\" aria-hidden=\"true\" focusable=\"false\"><defs>\n";
  for (std::size_t i = 0; i < kColors.size(); ++i) {
    html += fmt::format(
        "<pattern id=\"hatch-{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" class=\"ground\"/><rect width=\"3\" "
        "height=\"6\" fill=\"{}\"/></pattern>\n",
        i, kColors[i]);
  }
  return html + "</defs></svg>\n";
}

}  // namespace vramfit::report::page
