// Peak memory against one variable of a sweep, with the border between what fits and what does not.
//
//   GiB |- - - - - - - - x - - x - -   the card's memory; a cross is a trial that ran out
//       |          o  ¦
//       |      o      ¦  <- the border
//       |  o          ¦
//       +---4---8--12---16---24--> batch
#ifndef VRAMFIT_REPORT_PAGE_SWEEP_LINES_H
#define VRAMFIT_REPORT_PAGE_SWEEP_LINES_H

#include <vector>

#include "report/page/sweep_facts.h"

namespace vramfit::report::page {

// One picture for a sweep over one variable; for a search, one for each combination of the others, on one scale.
// Trials that told no peak are left out; a line without any is too.
std::vector<SweepPicture> draw_sweep_lines(const SweepFacts& facts);

std::vector<LegendKey> sweep_lines_legend(const SweepFacts& facts);

}  // namespace vramfit::report::page

#endif
