// What no forecast may go beyond, however it was made.
//
//   floor    the context, and at one moment weights, buffers, gradients and the optimizer's state: a plan that leaves
//            these holds them, whatever becomes of activations and of the cache
//   ceiling  the job's own demand, where all changes of a plan only let blocks go earlier
#ifndef VRAMFIT_PLAN_FORECAST_BOUNDS_H
#define VRAMFIT_PLAN_FORECAST_BOUNDS_H

#include "plan/forecast.h"

namespace vramfit::plan {

// `own`: what the job as it is takes with plenty, on the device.
void keep_within_bounds(const model::Job& job, const Forecast& forecast, bool only_lets_go, Bytes own,
                        Outlook& outlook);

// What it takes of a card of that size: with the cache that has room there.
Bytes peak_on(const Need& need, Bytes card);

// Around that peak: where such forecasts were in 95 of 100 runs (forecast_error.h), widened by what nothing tells of.
struct Interval {
  Bytes low, high;
};
Interval find_interval(const Outlook& outlook, Bytes card);

}  // namespace vramfit::plan

#endif
