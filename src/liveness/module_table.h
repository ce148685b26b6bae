// The notes of the hooks and the recorder's blocks, put together into a table of modules.
#ifndef VRAMFIT_LIVENESS_MODULE_TABLE_H
#define VRAMFIT_LIVENESS_MODULE_TABLE_H

#include <functional>
#include <optional>
#include <span>

#include "liveness/lifetimes.h"
#include "model/job.h"
#include "model/modules.h"

namespace vramfit::liveness {

// Seconds that one operator takes on the card `device`; none where the card is not known.
using OperatorSeconds =
    std::function<std::optional<double>(int device, model::Number number, double flops, double touched_bytes)>;

// None where no module was watched.
std::optional<model::ModuleTable> build_module_table(std::span<const model::Recording> recordings,
                                                     std::span<const CardHistory> histories,
                                                     const OperatorSeconds& seconds);

}  // namespace vramfit::liveness

#endif
