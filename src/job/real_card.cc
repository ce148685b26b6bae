#include "job/real_card.h"

#include <fmt/format.h>

#include <algorithm>

namespace vramfit::job {

using facts::CardFacts;
using facts::RealCard;

model::DeviceResult describe_real_card(const CardFacts& facts) {
  model::DeviceResult device;
  device.index = facts.device;
  device.name = facts.real.empty() ? "real card" : facts.real.front().name;
  if (!facts.real.empty()) device.total = facts.real.front().total;
  device.peaks = facts.peaks;
  // Where nothing told of the card as a whole it held at least this.
  device.peaks.device = std::max(device.peaks.device, device.peaks.reserved);
  device.context = facts.context;
  device.libraries = facts.libraries;
  device.occupied = facts.others;
  return device;
}

std::string describe_measuring(const CardFacts& facts) {
  if (facts.real.empty()) return "";
  const RealCard& card = facts.real.front();
  if (card.driver.empty()) {
    return fmt::format(
        "card {}: there is no NVML (libnvidia-ml.so.1), so what is unexplained is the job's CUDA context and libraries "
        "and whatever others held",
        facts.device);
  }
  if (!facts.tells_own) {
    return fmt::format(
        "card {} (driver {}): NVML does not say what this job's processes hold of it, as on Windows and in some "
        "containers, so what is unexplained is their CUDA context and libraries and whatever others held",
        facts.device, card.driver);
  }
  return fmt::format(
      "card {} (driver {}): what this job held beside PyTorch's memory is NVML's figure for its processes: context is "
      "what it was at PyTorch's first block, libraries what has come since (kernels too), occupied what others and the "
      "driver itself held",
      facts.device, card.driver);
}

std::string describe_mixture(const CardFacts& facts) {
  if (facts.real.size() < 2) return "";
  return fmt::format(
      "processes of this job have different cards under the number {} ({}, {}): what they hold is added up as if it "
      "were one",
      facts.device, facts.real[0].uuid, facts.real[1].uuid);
}

}  // namespace vramfit::job
