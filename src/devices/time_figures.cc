#include "devices/time_figures.h"

#include <algorithm>
#include <iterator>

namespace vramfit::devices {
namespace {

// Printed by bench/time/run --fit. `instructions`, `launch_seconds` and what the H200 has of its own came later, and
// are printed by --h200 (docs/decisions/0020-time-by-operator.md).
constexpr TimeFigures kOfAllCards = {.vector = 0.9259,
                                     .tensor = 1.163,
                                     .bandwidth = 0.8376,
                                     .vector_tile = 12.9,
                                     .tensor_tile = 3.127,
                                     .start_columns = 51.18,
                                     .start_seconds = 6e-6,
                                     .instructions = 100,
                                     .launch_seconds = 4.13e-5,
                                     .cache = 1.221,
                                     .convolution = 0.972,
                                     .weight_gradient = 0.6173,
                                     .layout_passes = 0.7073,
                                     .grouped = 1,
                                     .unaligned = 0.6875};

// How one card differs from those figures, by measurements of it, and of the same chip on another board. The T4 and the
// L4 have 70 W and can't hold their clock; the A100 and the V100 run above that of the data sheet. Hopper has other
// kernels for products that are aligned, and takes those of older cards for the rest.
struct CardFigures {
  std::string_view key;
  double vector, tensor, bandwidth;
  double halved = 1;
};

constexpr CardFigures kCardFigures[] = {
    {"p100", 1, 1, 0.812},
    {"v100-pcie-16gb", 1.2, 1, 1.05},
    {"v100-16gb", 1.2, 1, 1.05},
    {"v100-32gb", 1.2, 1, 1.05},
    {"t4", 0.72, 1, 0.871},
    {"a100-pcie-40gb", 1.15, 1, 1.01},
    {"a100-40gb", 1.15, 1, 1.01},
    {"a100-pcie-80gb", 1.24, 1, 1.01},
    {"a100-80gb", 1.24, 1, 1.01},
    {"l4", 0.675, 1, 0.913},
    {"h100", 0.972, 1, 1.01, 0.625},
    {"h100-pcie", 0.972, 1, 1.01, 0.625},
    {"h100-nvl", 0.972, 1, 1.01, 0.625},
    {"h200", 0.926, 0.924, 1.04, 0.625},
    {"rtx3090", 1, 1, 0.94},
    {"rtx4090", 1, 1, 1.08},
    {"rtx5090", 1, 0.82, 0.985},
};

struct NamedFigure {
  std::string_view name;
  double TimeFigures::*member;
};
constexpr NamedFigure kNamed[] = {{"vector", &TimeFigures::vector},
                                  {"tensor", &TimeFigures::tensor},
                                  {"bandwidth", &TimeFigures::bandwidth},
                                  {"vector_tile", &TimeFigures::vector_tile},
                                  {"tensor_tile", &TimeFigures::tensor_tile},
                                  {"start_columns", &TimeFigures::start_columns},
                                  {"start_seconds", &TimeFigures::start_seconds},
                                  {"instructions", &TimeFigures::instructions},
                                  {"launch_seconds", &TimeFigures::launch_seconds},
                                  {"cache", &TimeFigures::cache},
                                  {"convolution", &TimeFigures::convolution},
                                  {"weight_gradient", &TimeFigures::weight_gradient},
                                  {"layout_passes", &TimeFigures::layout_passes},
                                  {"grouped", &TimeFigures::grouped},
                                  {"unaligned", &TimeFigures::unaligned},
                                  {"halved", &TimeFigures::halved}};

}  // namespace

TimeFigures find_time_figures(const model::Card& card) {
  TimeFigures figures = kOfAllCards;
  const auto* known = std::ranges::find(kCardFigures, card.key, &CardFigures::key);
  if (known == std::end(kCardFigures)) return figures;
  figures.vector *= known->vector;
  figures.tensor *= known->tensor;
  figures.bandwidth *= known->bandwidth;
  figures.halved *= known->halved;
  return figures;
}

std::vector<std::string_view> figure_names() {
  std::vector<std::string_view> names;
  for (const NamedFigure& named : kNamed) names.push_back(named.name);
  return names;
}

double* find_figure(TimeFigures& figures, std::string_view name) {
  const auto* found = std::ranges::find(kNamed, name, &NamedFigure::name);
  return found == std::end(kNamed) ? nullptr : &(figures.*found->member);
}

}  // namespace vramfit::devices
