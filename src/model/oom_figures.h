// Whether the figures of an out-of-memory message can be of one process at one moment.
#ifndef VRAMFIT_MODEL_OOM_FIGURES_H
#define VRAMFIT_MODEL_OOM_FIGURES_H

#include "model/evidence.h"

namespace vramfit::model {

// Context and libraries of the process, P - A - R; absent when a figure is missing or they don't add up: every process
// that runs out has a context, so nothing or less is left only of numbers that are not of one moment or one process.
inline std::optional<PrintedBytes> held_outside_pytorch(const OomMessage& message) {
  const auto& held = message.arithmetic.context;
  return held && held->value.count() > 0 ? held : std::nullopt;
}

// PyTorch is said to have reserved less than is allocated in it: figures of two moments, or of a driver that pages.
inline bool allocated_exceeds_reserved(const OomMessage& message) {
  return message.allocated && message.reserved && surely_less(*message.reserved, *message.allocated);
}

// What this process has in use and what PyTorch reserved are both printed, and nothing or less lies between them.
inline bool figures_disagree(const OomMessage& message) {
  return message.arithmetic.reserved && (message.arithmetic.own_process || message.this_process) &&
         !held_outside_pytorch(message);
}

}  // namespace vramfit::model

#endif
