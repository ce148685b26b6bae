#include "model/card_figures.h"

#include <algorithm>

namespace vramfit::model {

bool was_measured(const RunResult& result) {
  return std::ranges::any_of(result.devices,
                             [](const DeviceResult& device) { return device.peaks.device.count() > 0; });
}

CardFigures figures_of(const RunResult& result, const DeviceResult& device) {
  CardFigures figures{.name = device.name, .index = device.index, .retries = device.retries};
  if (device.total.count() > 0) figures.total = device.total;
  if (!was_measured(result)) return figures;
  figures.context = device.context;
  figures.libraries = device.libraries;
  figures.device = device.peaks.device;
  // What another framework allocates is not PyTorch's to tell.
  if (find_framework(result, device.index) != nullptr && device.peaks.reserved.count() == 0) return figures;
  figures.allocated = device.peaks.allocated;
  figures.reserved = device.peaks.reserved;
  return figures;
}

std::vector<CardFigures> figures_of(const RunResult& result) {
  std::vector<CardFigures> all;
  for (const DeviceResult& device : result.devices) all.push_back(figures_of(result, device));
  return all;
}

}  // namespace vramfit::model
