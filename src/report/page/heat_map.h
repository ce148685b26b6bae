// A sweep's maps: peak memory over two variables, and the border between what fits and what does not.
//
//               --width
//   batch    256   512   1024
//            +-----+-----+.....+     filled: it fits, the darker the more memory
//   2        |#####|#####[ OOM .     hollow: out of memory
//            +-----+=====+.....+     the thick line is the border
//   40       |#####[ OOM . OOM .
//            +-----+.....+.....+
#ifndef VRAMFIT_REPORT_PAGE_HEAT_MAP_H
#define VRAMFIT_REPORT_PAGE_HEAT_MAP_H

#include <vector>

#include "report/page/sweep_facts.h"

namespace vramfit::report::page {

// One for each combination of the variables before the last two, all with one scale of colours. Empty with fewer than
// two variables.
std::vector<SweepPicture> draw_heat_maps(const SweepFacts& facts);

// Only what the maps show.
std::vector<LegendKey> heat_map_legend(const SweepFacts& facts);

}  // namespace vramfit::report::page

#endif
