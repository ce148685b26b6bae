// The history as a list: one row a run, with boxes to choose those to compare.
#ifndef VRAMFIT_REPORT_SITE_INDEX_PAGE_H
#define VRAMFIT_REPORT_SITE_INDEX_PAGE_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/peak_series.h"
#include "model/stored_run.h"

namespace vramfit::report::site {

inline constexpr std::size_t kMostCompared = 50;  // runs, side by side

struct IndexFacts {
  std::vector<model::StoredRun> runs;  // newest first
  std::string stamp;                   // of the history that they are from
  std::string text;                    // the filter that was applied; empty: none
  std::optional<std::int64_t> parent;  // only the trials of this sweep
  std::int64_t most = 0;               // no older runs than so many; 0: all are here
  bool has_all = false;                // asked for all runs
  model::PeaksByScript peaks;          // of `runs`; its series hold those that the filter left out too
  std::string group_by;                // the word for it; empty: nothing
  std::vector<model::RunGroup> groups;
  std::string version;
};
std::string index_page(const IndexFacts& facts);

// Whether every word of `text` is somewhere in what the list shows of the run; letters' case does not matter.
bool matches(const model::StoredRun& run, std::string_view text);

}  // namespace vramfit::report::site

#endif
