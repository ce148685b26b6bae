vramfit_room(tui
  SOURCES card_choice.cc cell_grid.cc terminal_screen.cc watch_draw.cc watch_help.cc watch_history.cc watch_loop.cc watch_state.cc watch_view.cc
  TESTS card_choice_test.cc cell_grid_test.cc watch_draw_test.cc watch_state_test.cc watch_view_test.cc testing/samples.cc
  ROOMS report watch)
