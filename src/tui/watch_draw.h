// Puts a view on a screen of any size. Pure: the same view, history and size give the same grid.
//
//   vramfit watch  host  driver ...                                10:28:17
//   RAM ... /dev/shm ...
//   ! alerts
//   0  NVIDIA GeForce RTX 3090  GPU-1d2f3a4b         41 C  112/350 W
//      ████████████░░░░░░░░  13.4 of 24.0 GiB   97 %          one to three rows a card, as the height allows
//   memory of GPU 0, last 3 min                               the graph, when there is room
//   PID  USER  GPU  RANK  MEMORY  SM  SINCE  COMMAND
//   ...
//   q quit  / filter  s sort: memory  t tree  h help
#ifndef VRAMFIT_TUI_WATCH_DRAW_H
#define VRAMFIT_TUI_WATCH_DRAW_H

#include <string>

#include "tui/cell_grid.h"
#include "tui/watch_history.h"
#include "tui/watch_view.h"

namespace vramfit::tui {

struct Look {
  bool unicode = true;
  bool keys = true;  // the last row names the keys; off for --once
  double interval_seconds = 1;
  std::string notes;  // "recording to FILE"; beside the clock
};

CellGrid draw_watch(const WatchView& view, const WatchHistory& history, const WatchState& state, const Look& look,
                    Size size);

// Draws the whole view, with as many rows as it takes at this width.
CellGrid draw_all(const WatchView& view, const Look& look, int columns);

}  // namespace vramfit::tui

#endif
