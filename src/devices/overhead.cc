#include "devices/overhead.h"

#include <fmt/format.h>

namespace vramfit::devices {

using base::Bytes;

namespace {

// Where the catalogue has no figure of its own: a context of lazily loaded modules was seen between 107 and 555 MiB
// on real boards (the middle, with that half-width), about 1.7 GB with everything loaded eagerly; library modules
// grew by 22-34 MiB on consumer cards and 92-94 MiB on an A100.
model::OverheadMemory general_figures(const model::Card& card) {
  model::OverheadMemory general;
  general.context_lazy = Bytes::mib(331);
  general.context_eager = Bytes::mib(1620);
  general.context_uncertainty = Bytes::mib(224);
  general.modules = card.category == "datacenter" ? Bytes::mib(93) : Bytes::mib(28);
  return general;
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
  for (const int major : {options.cuda_major, options.cuda_major == 12 ? 13 : 12}) {
    const auto known = card.overhead.find(major);
    if (known == card.overhead.end() || known->second.context_lazy.count() == 0) continue;
    figures = known->second;
    source = source_of(card, major);
    if (major != options.cuda_major)
      source += fmt::format(" (recorded with CUDA {}, not {})", major, options.cuda_major);
    break;
  }
  if (options.context) return {*options.context, Bytes(0), figures.modules, "--context"};
  const Bytes eager = figures.context_eager.count() > 0 ? figures.context_eager : general_figures(card).context_eager;
  return {options.eager_loading ? eager : figures.context_lazy, figures.context_uncertainty, figures.modules, source};
}

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
  emulated.modules = overhead.modules;
  return emulated;
}

}  // namespace vramfit::devices
