#include "devices/time_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "devices/operator_time.h"

namespace vramfit::devices {
namespace {

using model::Number;
using model::OperatorWork;
using model::StepWork;

// A catalogue without rates (a user's own TOML file) still gives ratios: every type then has the same rate.
constexpr double kUnknownTflops = 10.0;
constexpr double kUnknownBandwidthGbps = 400.0;

// Measured against predicted, of models and cards left out: the tenth and the ninetieth of a hundred (bench/time/run).
constexpr double kLowSeconds = 0.8, kHighSeconds = 1.3;
constexpr double kLowRatio = 0.85, kHighRatio = 1.2;

double tflops(const model::Card& card, Number number) {
  const model::PeakRates& rates = card.rates;
  const double fp32 = rates.fp32.value_or(kUnknownTflops);
  switch (number) {
    case Number::kF64:
      return rates.fp64.value_or(fp32 / 32);
    case Number::kF16:
      // cuBLAS and cuDNN accumulate in fp32: without tensor cores the fp16 rate of a data sheet (twice fp32 on GTX 16,
      // 1/64 on GTX 10) is never seen in training.
      return rates.fp16_tensor.value_or(fp32);
    case Number::kBf16:
      return rates.bf16.value_or(fp32);
    case Number::kTf32:
      return rates.tf32.value_or(fp32);
    case Number::kF8:
      return rates.fp8.value_or(rates.fp16_tensor.value_or(fp32));
    case Number::kI8:
      return rates.int8.value_or(fp32);
    case Number::kF32:
    case Number::kOther:
      break;
  }
  return fp32;
}

double bytes_per_second(const model::Card& card) { return peak_bytes_per_second(card) * kBandwidthEfficiency; }

// What the operators were counted to do, to be compared with what techniques made of it.
StepWork sum_up(const std::vector<OperatorWork>& operators) {
  StepWork sums;
  for (const OperatorWork& one : operators) {
    if (one.kind == OperatorWork::Kind::kMemory) {
      sums.other_bytes += one.bytes * one.count;
      continue;
    }
    sums.macs[static_cast<std::size_t>(one.number)] += one.rows * one.columns * one.inner * one.batch * one.count;
    sums.matmul_bytes += one.bytes * one.count;
    sums.launches += one.count;  // work.launches are those of all else
  }
  return sums;
}

double share(double part, double whole) { return whole > 0 ? part / whole : 1; }

// Operators as techniques left them: a part of the rows at once, and more or fewer bytes.
OperatorWork piece_of(const OperatorWork& work, double pieces, double byte_share, double element_share) {
  OperatorWork piece = work;
  piece.rows /= pieces;
  piece.bytes *= byte_share / pieces;
  piece.elements *= element_share / pieces;
  piece.count *= pieces;
  return piece;
}

// Products in the types that `work` has them in: each in its own while the shares of types are those that were counted,
// else all in the mixture that a technique made of them (autocast).
double product_seconds(const model::Card& card, const StepWork& work, const StepWork& counted,
                       const TimeFigures& figures) {
  const double macs = total_macs(work), repeated = share(macs, total_macs(counted));
  const double byte_share = share(work.matmul_bytes, counted.matmul_bytes) / std::max(repeated, 1e-9);
  bool is_as_counted = true;
  for (std::size_t i = 0; i < model::kNumberCount; ++i) {
    is_as_counted = is_as_counted && std::abs(work.macs[i] - counted.macs[i] * repeated) <= 0.01 * macs;
  }
  double seconds = 0;
  for (const OperatorWork& one : *work.operators) {
    if (one.kind == OperatorWork::Kind::kMemory) continue;
    OperatorWork piece = piece_of(one, work.pieces, byte_share, 1);
    if (is_as_counted) {
      seconds += estimate_kernel_seconds(card, piece, figures) * piece.count;
      continue;
    }
    for (std::size_t i = 0; i < model::kNumberCount; ++i) {
      if (work.macs[i] <= 0) continue;
      piece.number = static_cast<Number>(i);
      seconds += estimate_kernel_seconds(card, piece, figures) * piece.count * work.macs[i] / macs;
    }
  }
  return seconds * repeated;
}

double memory_seconds(const model::Card& card, const StepWork& work, const StepWork& counted,
                      const TimeFigures& figures) {
  const double byte_share = share(work.other_bytes, counted.other_bytes);
  double seconds = 0;
  for (const OperatorWork& one : *work.operators) {
    if (one.kind != OperatorWork::Kind::kMemory) continue;
    const OperatorWork piece = piece_of(one, work.pieces, byte_share, byte_share / work.narrower);
    seconds += estimate_kernel_seconds(card, piece, figures) * piece.count;
  }
  return seconds;
}

// PCI Express 3.0, 4.0 and 5.0: 8, 16 and 32 GT/s a lane, 128 bits of 130 (PCI-SIG's base specifications). Pascal to
// Turing came with 3.0, Ampere and Ada with 4.0, Hopper and Blackwell with 5.0 (NVIDIA's product briefs).
double slot_gbps(const model::Card& card) {
  constexpr double kLanes = 16, kCoding = 128.0 / 130, kBits = 8;
  const double transfers = card.capability.major >= 9 ? 32 : card.capability.major >= 8 ? 16 : 8;
  return transfers * kLanes * kCoding / kBits;
}

}  // namespace

double host_bytes_per_second(const model::Card& card) { return slot_gbps(card) * 1e9 * kSlotEfficiency; }

double peak_bytes_per_second(const model::Card& card) {
  return (card.bandwidth_gbps > 0 ? card.bandwidth_gbps : kUnknownBandwidthGbps) * 1e9;
}

double peak_multiply_adds_per_second(const model::Card& card, Number number) { return tflops(card, number) * 1e12 / 2; }

double multiply_adds_per_second(const model::Card& card, Number number) {
  return peak_multiply_adds_per_second(card, number) * kMatmulEfficiency;
}

double estimate_operator_seconds(const model::Card& card, Number number, double flops, double touched_bytes) {
  return std::max(flops / 2 / multiply_adds_per_second(card, number), touched_bytes / bytes_per_second(card));
}

double estimate_step_seconds(const model::Card& card, const model::StepWork& work) {
  return estimate_step_seconds(card, work, find_time_figures(card));
}

double estimate_step_seconds(const model::Card& card, const model::StepWork& work, const TimeFigures& figures) {
  if (work.operators == nullptr || work.operators->empty()) return estimate_roofline_seconds(card, work);
  const StepWork counted = sum_up(*work.operators);
  const double device = product_seconds(card, work, counted, figures) + memory_seconds(card, work, counted, figures);
  const double launches = work.launches + counted.launches * work.pieces * share(total_macs(work), total_macs(counted));
  return std::max(device, launches * figures.launch_seconds) + work.host_bytes / host_bytes_per_second(card);
}

double estimate_roofline_seconds(const model::Card& card, const model::StepWork& work) {
  double compute = 0;
  for (std::size_t i = 0; i < model::kNumberCount; ++i) {
    compute += work.macs[i] / multiply_adds_per_second(card, static_cast<Number>(i));
  }
  const double matmuls = std::max(compute, work.matmul_bytes / bytes_per_second(card));
  const double others = work.other_bytes / bytes_per_second(card);
  const double copies = work.host_bytes / host_bytes_per_second(card);
  return std::max(matmuls + others, work.launches * kSecondsPerLaunch) + copies;
}

Interval interval_of_seconds(double seconds) { return {seconds, seconds * kLowSeconds, seconds * kHighSeconds}; }

// What the model does not know of a card or a job is in both times, and leaves the ratio: the nearer it is to 1, the
// less of their error is in it.
Interval interval_of_change(double factor) {
  const double part = std::min(1.0, std::abs(std::log(std::max(factor, 1e-9))) / std::log(2.0));
  return {factor, factor * (1 + (kLowSeconds - 1) * part), factor * (1 + (kHighSeconds - 1) * part)};
}

Interval interval_between_cards(double factor) { return {factor, factor * kLowRatio, factor * kHighRatio}; }

bool speeds_up_half_precision(const model::Card& card, Number half) {
  return multiply_adds_per_second(card, half) >= 1.5 * multiply_adds_per_second(card, Number::kF32);
}

}  // namespace vramfit::devices
