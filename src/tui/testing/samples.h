// Machines to draw.
#ifndef VRAMFIT_TUI_TESTING_SAMPLES_H
#define VRAMFIT_TUI_TESTING_SAMPLES_H

#include "model/machine.h"

namespace vramfit::tui::testing {

// Four cards (busy, idle, divided, lost), a torchrun with two ranks, a zombie, a process of another container, one that
// runs under vramfit.
model::MachineSample busy_machine();
// Eight cards with 25 processes each.
model::MachineSample large_machine();

}  // namespace vramfit::tui::testing

#endif
