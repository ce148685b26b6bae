// What the command line shows on stderr while a use case works, and how it shows errors.
#ifndef VRAMFIT_CLI_TERMINAL_H
#define VRAMFIT_CLI_TERMINAL_H

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"

namespace vramfit::cli {

// On a terminal one line that is rewritten; elsewhere a plain line every few seconds at most.
class TerminalProgress final : public base::ProgressSink {
 public:
  TerminalProgress(bool is_terminal, const base::Clock& clock) : is_terminal_(is_terminal), clock_(clock) {}
  ~TerminalProgress() override { clear(); }
  void update(std::string_view line) override;
  void say(std::string_view line) override;
  void clear() override;

 private:
  bool is_terminal_;
  const base::Clock& clock_;
  bool shown_ = false;
  std::int64_t last_ns_ = 0;
  std::string last_;
};

bool stderr_is_terminal();
// Whether text to this file descriptor may be coloured: it is a terminal, not a dumb one, and NO_COLOR is not set.
bool wants_color(int file);

// Whether the locale can show UTF-8. Without any word about it, it is "C", which can't.
bool shows_utf8();

// Pages are wrapped for the terminal that shows them, where that is narrower than 80 columns.
void fit_page_to_terminal();

// Whole text to stderr, in signs that the locale can show.
void talk(std::string_view words);
// A page to stdout, likewise.
void print_page(std::string_view text);
// Data to stdout, as they are.
void print(std::string_view text);

// Shows the error and returns the exit code it stands for (2: usage or tool error).
int report_error(const base::Error& error);

}  // namespace vramfit::cli

#endif
