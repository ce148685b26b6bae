#include "report/page/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vramfit::report::page {

namespace {

// The largest binary unit of which `most` holds at least one.
double unit_of(double most) {
  double unit = 1;
  while (unit * 1024 <= most && unit < 1099511627776.0) unit *= 1024;
  return unit;
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
  const double bytes = static_cast<double>(std::max<std::int64_t>(1, most.count()));
  const double unit = unit_of(bytes);
  std::vector<base::Bytes> ticks;
  for (const double tick : round_ticks(bytes / unit, count)) {
    ticks.emplace_back(static_cast<std::int64_t>(std::llround(tick * unit)));
  }
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
