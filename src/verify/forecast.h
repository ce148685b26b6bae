// What a plan's forecast says of memory, counted again from the records of the run without it: by its own reading of
// each technique, and by adding up at every birth all blocks that live then. It knows neither the planner's stream nor
// its sums nor the simulator of the allocator. For tests: it looks at every pair of blocks.
//
//   micro_batch        what a training step allocates for its samples is smaller; gradients of the first step stay
//   split_forward      what a network allocates for its samples is smaller; what it gets and returns stays, as what is
//                      made of that outside of modules; gradients of the first part stay
//   checkpoint         what a module holds for its backward is there during its forward, and again once the last of
//                      what came after it is gone; what it returns stays
//   offload_optimizer  the state is there in steps alone, and a share of it, as of what steps work in
//   release_gradients  a gradient goes as soon as it is there
//   allocator, empty_cache   move no block
#ifndef VRAMFIT_VERIFY_FORECAST_H
#define VRAMFIT_VERIFY_FORECAST_H

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "model/plan.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::verify {

struct CountedForecast {
  std::string why_not;                        // it was not counted: a technique that is not known here; empty: it was
  base::Bytes allocated;                      // at most
  std::map<std::string, base::Bytes> phases;  // at most at births within it
  double tolerance = 0;                       // as a share: how far another reading of the same techniques may be
};
CountedForecast count_forecast(std::span<const model::Recording> recordings, int device, const model::Plan& plan);

// What the planner told, without what lies outside of PyTorch's allocator.
struct ToldForecast {
  base::Bytes allocated, needs, uses;
  std::map<std::string, base::Bytes> phases;  // of the smallest card that it runs on
};

// What is told and not so, a sentence each; empty: all of it agrees, or was not counted.
std::vector<std::string> check_forecast(const CountedForecast& counted, const ToldForecast& told);

}  // namespace vramfit::verify

#endif
