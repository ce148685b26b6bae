#include "report/page/palette.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "model/owner_names.h"

namespace vramfit::report::page {

namespace {

constexpr std::array<std::string_view, 8> kColors = {"#0072B2", "#E69F00", "#009E73", "#CC79A7",
                                                     "#56B4E9", "#D55E00", "#F0E442", "#8C8C8C"};

enum class Fill { kPlain, kHatched, kDotted };

struct Paint {
  std::string_view owner;
  std::size_t color;
  Fill fill;
};

constexpr Fill kPlain = Fill::kPlain, kHatched = Fill::kHatched, kDotted = Fill::kDotted;

constexpr Paint kPaints[] = {
    {model::owner::kWeights, 0, kPlain},       {model::owner::kGradients, 5, kPlain},
    {model::owner::kOptimizer, 2, kPlain},     {model::owner::kActivations, 1, kPlain},
    {model::owner::kInputs, 4, kPlain},        {model::owner::kBuffers, 3, kPlain},
    {model::owner::kTemporaries, 6, kPlain},   {model::owner::kOtherTensors, 7, kPlain},
    {model::owner::kWorkspaces, 0, kHatched},  {model::owner::kLoaded, 2, kHatched},
    {model::owner::kCached, 4, kHatched},      {model::owner::kFragmented, 5, kHatched},
    {model::owner::kContext, 3, kHatched},     {model::owner::kLibraries, 1, kHatched},
    {model::owner::kOccupied, 7, kHatched},    {model::owner::kUnexplained, 6, kHatched},
    {model::owner::kAverages, 0, kDotted},     {model::owner::kMasters, 2, kDotted},
    {model::owner::kQuantization, 3, kDotted}, {model::owner::kOtherModels, 4, kDotted},
    {model::owner::kCache, 1, kDotted},
};

}  // namespace

std::string fill_of(std::string_view owner) {
  for (const Paint& paint : kPaints) {
    if (paint.owner != owner) continue;
    switch (paint.fill) {
      case Fill::kPlain:
        return std::string(kColors[paint.color]);
      case Fill::kHatched:
        return fmt::format("url(#hatch-{})", paint.color);
      case Fill::kDotted:
        return fmt::format("url(#dots-{})", paint.color);
    }
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
    html += fmt::format(
        "<pattern id=\"dots-{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect width=\"6\" "
        "height=\"6\" class=\"ground\"/><circle cx=\"3\" cy=\"3\" r=\"2\" fill=\"{}\"/></pattern>\n",
        i, kColors[i]);
  }
  return html + "</defs></svg>\n";
}

}  // namespace vramfit::report::page
