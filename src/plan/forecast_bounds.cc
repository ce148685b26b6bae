#include "plan/forecast_bounds.h"

#include <algorithm>

namespace vramfit::plan {
namespace {

// What lasts from one step to the next, as the plan's techniques leave it at that moment.
Bytes sum_lasting(const Forecast& forecast, const model::StagePeak& moment) {
  const model::StagePeak then = settled(forecast, moment);
  const model::Holdings& holdings = then.holdings;
  return weights_at(forecast, then) + holdings.buffers + holdings.gradients + holdings.optimizer;
}

}  // namespace

void keep_within_bounds(const model::Job& job, const Forecast& forecast, bool only_lets_go, Bytes own,
                        Outlook& outlook) {
  for (const model::StagePeak& moment : forecast.stage_peaks) {
    outlook.floor = std::max(outlook.floor, job.overhead + sum_lasting(forecast, moment));
  }
  if (only_lets_go) outlook.ceiling = std::max(own, outlook.floor);
  const auto keep = [&](Bytes& bytes) {
    bytes = std::max(bytes, outlook.floor);
    if (outlook.ceiling) bytes = std::min(bytes, *outlook.ceiling);
  };
  keep(outlook.needs);
  keep(outlook.uses);
  for (std::optional<Need>* need : {&outlook.at_least, &outlook.at_most}) {
    if (!*need) continue;
    keep((*need)->needs);
    keep((*need)->uses);
  }
}

Bytes peak_on(const Need& need, Bytes card) { return std::max(need.needs, std::min(need.uses, card)); }

Interval find_interval(const Outlook& outlook, Bytes card) {
  const double error = error_of(outlook.made_by);
  const Bytes peak = peak_on({outlook.needs, outlook.uses}, card);
  Interval interval{scaled(peak, 1 - error), scaled(peak, 1 + error)};
  if (outlook.at_least) interval.low = std::min(interval.low, peak_on(*outlook.at_least, card));
  if (outlook.at_most) interval.high = std::max(interval.high, peak_on(*outlook.at_most, card));
  interval.low = std::min(std::max(interval.low, outlook.floor), peak);
  if (outlook.ceiling) interval.high = std::max(std::min(interval.high, *outlook.ceiling), peak);
  return interval;
}

}  // namespace vramfit::plan
