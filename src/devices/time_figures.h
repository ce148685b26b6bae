// What the time model knows of kernels and cards beside the data sheet: shares of its peaks that are reached.
//
// Fitted on measurements that others published (fixtures/published), by bench/time/run, which prints how far off they
// are on models and cards that were left out (docs/decisions/0020-time-by-operator.md).
#ifndef VRAMFIT_DEVICES_TIME_FIGURES_H
#define VRAMFIT_DEVICES_TIME_FIGURES_H

#include <string_view>
#include <vector>

#include "model/card.h"

namespace vramfit::devices {

struct TimeFigures {
  double vector = 1;       // of the peak rate, by tiles of any size on the plain cores
  double tensor = 1;       // the same, on tensor cores; above 1 where a card's clock is above the data sheet's
  double bandwidth = 1;    // of the data sheet's
  double vector_tile = 0;  // a tile of intensity i reaches i / (i + this) of that
  double tensor_tile = 0;
  double start_columns = 0;    // of the inner dimension: so many more take as long as a tile's beginning and end
  double start_seconds = 0;    // of a kernel
  double instructions = 0;     // for an element that a pass loads or stores by itself
  double launch_seconds = 0;   // of the host, from the script's line to the kernel's launch: a share of its operator
  double cache = 1;            // so much faster is L2
  double convolution = 1;      // of a product's rate
  double weight_gradient = 1;  // of a convolution's rate, by the gradient of its filter
  double layout_passes = 0;    // over a convolution's tensors, to change their layout for tensor cores
  double grouped = 1;          // of the bandwidth, by convolutions with a channel or few in a group
  double unaligned = 1;        // of the rate on tensor cores, by dimensions that are no multiples of 8
  double halved = 1;           // of that, for each halving of what such dimensions let a thread load at once
  friend bool operator==(const TimeFigures&, const TimeFigures&) = default;
};

// The figures of this card if it was measured, else those of its kind.
TimeFigures find_time_figures(const model::Card& card);

// The names of all figures: those of their members.
std::vector<std::string_view> figure_names();

// Finds a figure by its member's name; null: there is none.
double* find_figure(TimeFigures& figures, std::string_view name);

}  // namespace vramfit::devices

#endif
