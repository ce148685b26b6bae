// The use case behind `vramfit compare`.
#ifndef VRAMFIT_HISTORY_COMPARE_H
#define VRAMFIT_HISTORY_COMPARE_H

#include <vector>

#include "model/comparison.h"

namespace vramfit::history {

model::Comparison compare(std::vector<model::StoredRun> runs);

}  // namespace vramfit::history

#endif
