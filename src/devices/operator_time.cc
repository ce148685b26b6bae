#include "devices/operator_time.h"

#include <algorithm>
#include <cmath>

#include "devices/time_model.h"

namespace vramfit::devices {
namespace {

using model::Number;
using model::OperatorWork;

constexpr double kUnknownProcessors = 40;

struct Tile {
  double rows, columns;
};
// The tiles of cuBLAS and CUTLASS, read off their kernels' names, and those of products with a vector.
constexpr Tile kTiles[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64},
                           {64, 32},   {32, 64},   {32, 32},   {256, 1},  {1, 256}};
constexpr double kSplits[] = {1, 2, 4, 8, 16, 32};
constexpr double kFewestColumns = 8;  // in a group: with fewer, no library computes it as a product

double processors_of(const model::Card& card) { return card.sm_count > 0 ? card.sm_count : kUnknownProcessors; }

double bytes_per_second(const model::Card& card, const TimeFigures& figures) {
  return peak_bytes_per_second(card) * figures.bandwidth;
}

bool is_on_tensor_cores(const model::Card& card, Number number) {
  if (number == Number::kF32 || number == Number::kF64 || number == Number::kOther) return false;
  return peak_multiply_adds_per_second(card, number) > 1.5 * peak_multiply_adds_per_second(card, Number::kF32) ||
         number == Number::kTf32;
}

// How often the number of elements that a thread may load at once is halved, from eight on: of a product by whatever
// power of two its dimensions are no multiples of. cuDNN fills a convolution's channels up to eight.
int halvings_of(const OperatorWork& work) {
  int halvings = 0;
  for (double at_once = 8; at_once > 1; at_once /= 2) {
    if (std::fmod(work.columns, at_once) == 0 && std::fmod(std::round(work.inner), at_once) == 0) break;
    ++halvings;
  }
  return work.kind == OperatorWork::Kind::kConvolution ? std::min(halvings, 1) : halvings;
}

// Its sums are over output pixels, of which there are more than filters.
bool is_weight_gradient(const OperatorWork& work) {
  return work.kind == OperatorWork::Kind::kConvolution && work.inner > work.rows;
}

double rate_of(const model::Card& card, const OperatorWork& work, const TimeFigures& figures) {
  const bool tensor = is_on_tensor_cores(card, work.number);
  double rate = peak_multiply_adds_per_second(card, work.number) * (tensor ? figures.tensor : figures.vector);
  const int halvings = tensor ? halvings_of(work) : 0;
  if (halvings > 0) rate *= figures.unaligned * std::pow(figures.halved, halvings);
  if (work.kind == OperatorWork::Kind::kConvolution) rate *= figures.convolution;
  if (is_weight_gradient(work)) rate *= figures.weight_gradient;
  return rate;
}

// The bytes likely still in L2 from the kernel before: half of it at most.
double uncached(const model::Card& card, double bytes, const TimeFigures& figures) {
  const double held = std::min(bytes, static_cast<double>(card.l2.count()) / 2);
  return bytes - held * (1 - 1 / std::max(figures.cache, 1.0));
}

double memory_seconds(const model::Card& card, double bytes, const TimeFigures& figures) {
  return uncached(card, bytes, figures) / bytes_per_second(card, figures);
}

// Processors since Maxwell begin an instruction of 4 warps of 32 threads in a cycle (NVIDIA's whitepapers).
double instructions_per_second(const model::Card& card) {
  constexpr double kThreads = 128;
  return processors_of(card) * kThreads * card.sm_clock_khz * 1e3;
}

// A pass whose threads work out the place of each element is as long for narrow types as for wide ones.
double pass_seconds(const model::Card& card, const OperatorWork& work, const TimeFigures& figures) {
  const double memory = memory_seconds(card, work.bytes, figures);
  if (card.sm_clock_khz <= 0) return memory;
  return std::max(memory, work.elements * figures.instructions / instructions_per_second(card));
}

double product_seconds(const model::Card& card, const OperatorWork& work, const TimeFigures& figures) {
  const double processors = processors_of(card), rate = rate_of(card, work, figures) / processors;
  const double half = is_on_tensor_cores(card, work.number) ? figures.tensor_tile : figures.vector_tile;
  double best = HUGE_VAL;
  for (const Tile& tile : kTiles) {
    if (std::min(tile.rows, tile.columns) == 1 && work.kind != OperatorWork::Kind::kProduct) continue;
    const double intensity = tile.rows * tile.columns / (tile.rows + tile.columns);
    const double tile_rate = rate * intensity / (intensity + half);
    const double tiles = std::ceil(work.rows / tile.rows) * std::ceil(work.columns / tile.columns) * work.batch;
    for (const double split : kSplits) {
      if (split > 1 && (work.inner / split < tile.rows || tiles * split > 2 * processors)) break;
      const double waves = std::ceil(tiles * split / processors);
      const double compute =
          waves * tile.rows * tile.columns * (work.inner / split + figures.start_columns) / tile_rate;
      const double sums = split > 1 ? 2 * split * work.rows * work.columns * work.batch * sizeof(float) : 0;
      const double memory = memory_seconds(card, work.bytes, figures) + memory_seconds(card, sums, figures);
      best = std::min(best, std::max(compute, memory));
    }
  }
  return best;
}

double convolution_seconds(const model::Card& card, const OperatorWork& work, const TimeFigures& figures) {
  const double layout =
      is_on_tensor_cores(card, work.number) ? memory_seconds(card, work.bytes * figures.layout_passes, figures) : 0;
  if (work.batch <= 1 || std::min(work.columns, work.inner) >= kFewestColumns) {
    return product_seconds(card, work, figures) + layout;
  }
  const double macs = work.rows * work.columns * work.inner * work.batch;
  const double compute = macs / (peak_multiply_adds_per_second(card, Number::kF32) * figures.vector);
  return std::max(compute, memory_seconds(card, work.bytes, figures) / figures.grouped);
}

}  // namespace

double estimate_kernel_seconds(const model::Card& card, const OperatorWork& work, const TimeFigures& figures) {
  double seconds = 0;
  if (work.kind == OperatorWork::Kind::kMemory || work.rows <= 0 || work.columns <= 0 || work.inner <= 0) {
    seconds = pass_seconds(card, work, figures);
  } else if (work.kind == OperatorWork::Kind::kProduct) {
    seconds = product_seconds(card, work, figures);
  } else {
    seconds = convolution_seconds(card, work, figures);
  }
  return seconds + figures.start_seconds;
}

}  // namespace vramfit::devices
