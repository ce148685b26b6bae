// The use case behind `vramfit compare`.
#ifndef VRAMFIT_APP_COMPARE_H
#define VRAMFIT_APP_COMPARE_H

#include <vector>

#include "model/comparison.h"

namespace vramfit::app {

model::Comparison compare(std::vector<model::StoredRun> runs);

}  // namespace vramfit::app

#endif
