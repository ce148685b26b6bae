// Whether the figures of an out-of-memory message can be of one process at one moment.
#ifndef VRAMFIT_MODEL_OOM_FIGURES_H
#define VRAMFIT_MODEL_OOM_FIGURES_H

#include "model/evidence.h"

namespace vramfit::model {

// What this process has in use and what PyTorch reserved are both printed, and nothing or less lies between them.
inline bool figures_disagree(const OomMessage& message) {
  return message.arithmetic.reserved && (message.arithmetic.own_process || message.this_process) &&
         !held_outside_pytorch(message);
}

}  // namespace vramfit::model

#endif
