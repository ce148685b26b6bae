// `vramfit watch` on a terminal: draws each sample, reacts to keys at once, ends on q or Ctrl-C.
#ifndef VRAMFIT_TUI_WATCH_LOOP_H
#define VRAMFIT_TUI_WATCH_LOOP_H

#include <cstdint>

#include "base/error.h"
#include "tui/terminal_screen.h"
#include "tui/watch_draw.h"
#include "tui/watch_state.h"
#include "watch/watch.h"

namespace vramfit::tui {

struct LoopOptions {
  std::int64_t interval_ns = 1'000'000'000;
  std::int64_t most_samples = 0;  // 0: until ended
  WatchState state;
  Look look;
};

// Needs an InterruptScope around it.
base::Result<void> watch_on_screen(watch::Watch& watch, TerminalScreen& screen, const LoopOptions& options);

}  // namespace vramfit::tui

#endif
