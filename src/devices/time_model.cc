#include "devices/time_model.h"

#include <algorithm>
#include <optional>

namespace vramfit::devices {
namespace {

using model::Number;

// A catalogue without rates (a user's own TOML file) still gives ratios: every type then has the same rate.
constexpr double kUnknownTflops = 10.0;
constexpr double kUnknownBandwidthGbps = 400.0;

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

double bytes_per_second(const model::Card& card) {
  const double gbps = card.bandwidth_gbps > 0 ? card.bandwidth_gbps : kUnknownBandwidthGbps;
  return gbps * 1e9 * kBandwidthEfficiency;
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

double multiply_adds_per_second(const model::Card& card, Number number) {
  return tflops(card, number) * 1e12 / 2 * kMatmulEfficiency;
}

double estimate_operator_seconds(const model::Card& card, Number number, double flops, double touched_bytes) {
  return std::max(flops / 2 / multiply_adds_per_second(card, number), touched_bytes / bytes_per_second(card));
}

double estimate_step_seconds(const model::Card& card, const model::StepWork& work) {
  double compute = 0;
  for (std::size_t i = 0; i < model::kNumberCount; ++i) {
    compute += work.macs[i] / multiply_adds_per_second(card, static_cast<Number>(i));
  }
  const double matmuls = std::max(compute, work.matmul_bytes / bytes_per_second(card));
  const double others = work.other_bytes / bytes_per_second(card);
  const double copies = work.host_bytes / host_bytes_per_second(card);
  return std::max(matmuls + others, work.launches * kSecondsPerLaunch) + copies;
}

bool speeds_up_half_precision(const model::Card& card, Number half) {
  return multiply_adds_per_second(card, half) >= 1.5 * multiply_adds_per_second(card, Number::kF32);
}

}  // namespace vramfit::devices
