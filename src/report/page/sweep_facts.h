// What a page shows of a sweep.
#ifndef VRAMFIT_REPORT_PAGE_SWEEP_FACTS_H
#define VRAMFIT_REPORT_PAGE_SWEEP_FACTS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/sweep.h"

namespace vramfit::report::page {

// A trial as a run of the history.
struct TrialRun {
  std::int64_t number = 0;  // 0: the history here does not have it
  std::string link;         // to its own page or part of this one; empty: none
};

struct SweepFacts {
  model::SweepResult result;
  std::vector<TrialRun> runs;  // of result.trials, by the same index; may be shorter

  TrialRun run_of(const model::Trial& trial) const {
    const auto index = static_cast<std::size_t>(&trial - result.trials.data());
    return index < runs.size() ? runs[index] : TrialRun();
  }
};

// A picture without its frame: what stands between <svg> and </svg>.
struct SweepPicture {
  std::string title;   // plain text; empty where there is only one
  std::string spoken;  // plain text, for those who don't see it
  int width = 0, height = 0;
  std::string svg;
};

// One line of a legend.
struct LegendKey {
  std::string svg;   // in a box of 32 x 16
  std::string text;  // plain text
};

}  // namespace vramfit::report::page

#endif
