// The terminal while a screen is shown: its other page, no echo, no cursor. Everything is given back when this goes,
// whatever the reason.
#ifndef VRAMFIT_TUI_TERMINAL_SCREEN_H
#define VRAMFIT_TUI_TERMINAL_SCREEN_H

#include <termios.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "tui/cell_grid.h"
#include "tui/watch_state.h"

namespace vramfit::tui {

class TerminalScreen {
 public:
  // Needs a terminal as stdin and stdout.
  static base::Result<TerminalScreen> open(bool colour);
  TerminalScreen(TerminalScreen&& other) noexcept;
  TerminalScreen& operator=(TerminalScreen&&) = delete;
  ~TerminalScreen();

  Size size() const;
  // Sends what changed since the last grid.
  void show(const CellGrid& grid);
  // Waits for a key at most until the time is over; nothing when there was none, or a signal came, or the window
  // changed its size.
  std::optional<Key> wait_for_key(std::int64_t most_ns);
  // The terminal is gone: nobody can see or end this any more.
  bool is_gone() const { return gone_; }

 private:
  TerminalScreen() = default;

  bool active_ = false, colour_ = true, gone_ = false;
  termios before_{};
  std::string input_;
  std::optional<CellGrid> shown_;
};

// What a terminal is asked for: its columns, or `otherwise` for a file or pipe.
int terminal_columns(int file, int otherwise);

}  // namespace vramfit::tui

#endif
