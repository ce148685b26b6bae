#include "report/page/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vramfit::report::page {

namespace {

// What an axis of bytes counts in, of each unit: no multiple of these takes more than two digits behind the point.
constexpr std::int64_t kByteSteps[] = {1, 2, 5, 10, 20, 50, 100, 256, 512};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

// The least round step that is not below `rough`.
std::int64_t byte_step(double rough) {
  for (std::int64_t unit = 1; unit < std::int64_t{1} << 50; unit *= 1024) {
    for (const std::int64_t step : kByteSteps) {
      if (static_cast<double>(step * unit) >= rough) return step * unit;
    }
  }
  return kMostBytes;
}

}  // namespace

std::vector<double> round_ticks(double most, int count) {
  if (!(most > 0) || !std::isfinite(most)) return {0, 1};
  const double rough = most / std::max(1, count);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  std::vector<double> ticks = {0};
  while (ticks.back() < most) ticks.push_back(static_cast<double>(ticks.size()) * step);
  return ticks;
}

std::vector<base::Bytes> byte_ticks(base::Bytes most, int count) {
  const std::int64_t bytes = std::clamp<std::int64_t>(most.count(), 1, kMostBytes);
  const std::int64_t step = byte_step(static_cast<double>(bytes) / std::max(1, count));
  std::vector<base::Bytes> ticks = {base::Bytes(0)};
  while (ticks.back().count() < bytes) ticks.push_back(ticks.back() + base::Bytes(step));
  return ticks;
}

std::string tick_text(base::Bytes bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double count = static_cast<double>(bytes.count());
  std::size_t unit = 0;
  while (count >= 1024 && unit + 1 < std::size(kUnits)) {
    count /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", count, kUnits[unit]);
}

}  // namespace vramfit::report::page
