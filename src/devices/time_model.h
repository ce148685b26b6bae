// How long a training step takes on a card: kernel by kernel where they were counted (operator_time.h), the host's part
// beside them, and copies. Where nothing saw the kernels, a roofline, of which only ratios are claimed:
//
//   step = max(matmuls + everything else, launches x launch cost) + host bytes / rate of its slot
//   matmuls         = max(multiply-adds / peak rate of their type, bytes / bandwidth)
//   everything else = bytes / bandwidth       (normalisation, activation functions, the optimizer)
//
// source: model. The efficiencies are the usual share of the data-sheet figures that cuBLAS, cuDNN and element-wise
// kernels reach; they weigh compute against bandwidth and cancel out otherwise.
#ifndef VRAMFIT_DEVICES_TIME_MODEL_H
#define VRAMFIT_DEVICES_TIME_MODEL_H

#include "devices/time_figures.h"
#include "model/card.h"
#include "model/job.h"

namespace vramfit::devices {

inline constexpr double kMatmulEfficiency = 0.6;
inline constexpr double kBandwidthEfficiency = 0.8;
// The share of a slot's rate that bandwidthTest of NVIDIA's samples reaches with pinned memory: 12 to 13 of 15.75 GB/s
// on PCIe 3.0.
inline constexpr double kSlotEfficiency = 0.8;
// From Python through the dispatcher to the device, one small operator costs 4 to 8 microseconds of host time.
inline constexpr double kSecondsPerLaunch = 5e-6;

// Multiply-adds a second that matmuls of this type reach at most on this card. A type without hardware of its own runs
// at the rate of the type PyTorch's libraries compute it in.
double multiply_adds_per_second(const model::Card& card, model::Number number);

// One operator by itself: floating-point operations (a multiply-add is two) against bytes touched.
double estimate_operator_seconds(const model::Card& card, model::Number number, double flops, double touched_bytes);

double estimate_step_seconds(const model::Card& card, const model::StepWork& work);
double estimate_step_seconds(const model::Card& card, const model::StepWork& work, const TimeFigures& figures);
double estimate_roofline_seconds(const model::Card& card, const model::StepWork& work);

// A time, or a ratio of two, and the range that held four of five measurements that the figures were not fitted on
// (bench/time/run).
struct Interval {
  double value = 0, low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};
Interval interval_of_seconds(double seconds);
// The error of a changed step on one card, which is assumed, and on another card.
Interval interval_of_change(double factor);
Interval interval_between_cards(double factor);

// The data sheet's rate, of which the efficiencies are shares.
double peak_bytes_per_second(const model::Card& card);
double peak_multiply_adds_per_second(const model::Card& card, model::Number number);

// A copy between this card and pinned host memory, one way at a time: the catalogue does not have the slot, so it is
// the generation of PCI Express that cards of its compute capability came with, with all 16 lanes. A card in a slot of
// an older generation, or of 8 lanes, takes twice as long.
double host_bytes_per_second(const model::Card& card);

// Whether half precision makes matmuls at least 1.5 times as fast on this card.
bool speeds_up_half_precision(const model::Card& card, model::Number half);

}  // namespace vramfit::devices

#endif
