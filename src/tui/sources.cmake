vramfit_room(tui
  SOURCES cell_grid.cc terminal_screen.cc watch_draw.cc watch_history.cc watch_loop.cc watch_state.cc watch_view.cc
  ROOMS app report)
