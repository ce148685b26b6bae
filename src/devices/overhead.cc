#include "devices/overhead.h"

#include <fmt/format.h>

#include <cstdlib>

namespace vramfit::devices {

using base::Bytes;

namespace {

constexpr Bytes kMeasuredUncertainty = Bytes::mib(5);  // what is printed has two decimals of a GiB: steps of 10 MiB

// Where the catalogue has no figure of its own: a context of lazily loaded modules was seen between 107 and 555 MiB
// on real boards (the middle, with that half-width), about 1.7 GB with everything loaded eagerly. Kernels and
// libraries: bench/published/library_memory.py.
model::OverheadMemory general_figures(const model::Card& card) {
  constexpr std::int64_t kThreadBytes = 330, kHopperThreadBytes = 540;
  const bool hopper = card.capability == model::ComputeCapability{9, 0};
  const std::int64_t threads = card.max_threads_per_sm > 0 ? card.max_threads_per_sm : 1024;
  model::OverheadMemory general;
  general.context_lazy = Bytes::mib(331);
  general.context_eager = Bytes::mib(1620);
  general.context_uncertainty = Bytes::mib(224);
  general.kernels = Bytes((hopper ? kHopperThreadBytes : kThreadBytes) * card.sm_count * threads);
  general.library = Bytes::mib(11);
  return general;
}

// The CUDA major that the catalogue has a context of; of two as near the newer.
std::optional<int> nearest_recorded(const model::Card& card, int cuda_major) {
  std::optional<int> nearest;
  for (const auto& [major, figures] : card.overhead) {
    if (figures.context_lazy.count() == 0) continue;
    if (!nearest || std::abs(major - cuda_major) <= std::abs(*nearest - cuda_major)) nearest = major;
  }
  return nearest;
}

std::string source_of(const model::Card& card, int major) {
  for (const auto& figure : {fmt::format("cu{}", major), std::string("context")}) {
    const auto source = card.sources.find(figure);
    if (source != card.sources.end()) return source->second;
  }
  return "the catalogue";
}

}  // namespace

Overhead find_overhead(const model::Card& card, const OverheadOptions& options) {
  model::OverheadMemory figures = general_figures(card);
  std::string source = "an estimate over all cards: the catalogue has no figure for this one";
  if (const auto major = nearest_recorded(card, options.cuda_major)) {
    figures = card.overhead.at(*major);
    source = source_of(card, *major);
    if (*major != options.cuda_major)
      source += fmt::format(" (recorded with CUDA {}, not {})", *major, options.cuda_major);
  }
  // A card of the user's own may give its context alone.
  const model::OverheadMemory general = general_figures(card);
  const Bytes kernels = figures.kernels.count() > 0 ? figures.kernels : general.kernels;
  const Bytes library = figures.library.count() > 0 ? figures.library : general.library;
  if (options.measured) return {*options.measured, kMeasuredUncertainty, Bytes(0), Bytes(0), options.measured_source};
  if (options.context) return {*options.context, Bytes(0), kernels, library, "--context"};
  const Bytes eager = figures.context_eager.count() > 0 ? figures.context_eager : general.context_eager;
  return {options.eager_loading ? eager : figures.context_lazy, figures.context_uncertainty, kernels, library, source};
}

Bytes total_of(const Overhead& overhead, int libraries) {
  return overhead.context + overhead.kernels + Bytes(overhead.library.count() * libraries);
}

Bytes uncertainty_of(Bytes context_uncertainty, Bytes later) { return context_uncertainty + Bytes(later.count() / 2); }

base::Bytes estimate_nccl_channels(const model::Card& card) {
  constexpr std::int64_t kConnection = (4 << 20) + 4915200 + (512 << 10), kAlgorithms = 2;
  constexpr std::int64_t kOverPcie = 2, kOverNvlink = 24;
  const bool nvlink = card.name.find("SXM") != std::string::npos || card.name.find("HBM3") != std::string::npos ||
                      card.name.find("H200") != std::string::npos || card.name.find("B200") != std::string::npos;
  return base::Bytes((nvlink ? kOverNvlink : kOverPcie) * kAlgorithms * kConnection);
}

model::EmulatedCard emulate(const model::Card& card, const OverheadOptions& options) {
  const Overhead overhead = find_overhead(card, options);
  model::EmulatedCard emulated;
  emulated.card = card;
  emulated.total = options.total.value_or(card.memory);
  emulated.occupied = options.occupied;
  emulated.context = overhead.context;
  emulated.context_uncertainty = overhead.uncertainty;
  emulated.kernels = overhead.kernels;
  emulated.library = overhead.library;
  return emulated;
}

}  // namespace vramfit::devices
