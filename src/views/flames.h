// What held a run's peak as trees: by module and by the script's line.
#ifndef VRAMFIT_VIEWS_FLAMES_H
#define VRAMFIT_VIEWS_FLAMES_H

#include <vector>

#include "model/run_result.h"
#include "report/page/flame_facts.h"

namespace vramfit::views {

// One by module and one by line for each card that has any. Modules are cut at their dots, below their kind of owner:
// weights > backbone > stage1 > conv.
std::vector<report::page::FlameFacts> build_flames(const model::RunResult& result);

}  // namespace vramfit::views

#endif
