#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/letters.h"
#include "report/layout.h"

namespace vramfit::cli {

bool stderr_is_terminal() { return isatty(STDERR_FILENO) != 0; }

bool wants_color(int file) {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string_view(text == nullptr ? "" : text);
  };
  return isatty(file) != 0 && value("NO_COLOR").empty() && value("TERM") != "dumb";
}

bool shows_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = base::lowered(value);
    return locale.contains("utf-8") || locale.contains("utf8");
  }
  return false;
}

void fit_page_to_terminal() {
  winsize window{};
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) {
    if (isatty(file) == 0 || ::ioctl(file, TIOCGWINSZ, &window) != 0 || window.ws_col == 0) continue;
    return report::set_page_width(window.ws_col);
  }
}

void print_page(std::string_view text) { print(shows_utf8() ? std::string(text) : report::in_ascii(text)); }

void talk(std::string_view words) {
  const std::string text = shows_utf8() ? std::string(words) : report::in_ascii(words);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

namespace {

// One that can't rewrite a line.
bool is_dumb_terminal() {
  const char* kind = std::getenv("TERM");
  return kind != nullptr && std::string_view(kind) == "dumb";
}

}  // namespace

void TerminalProgress::update(std::string_view line) {
  const std::int64_t now = clock_.now_ns();
  if (is_terminal_) {
    if (is_dumb_terminal()) return;
    talk(fmt::format("\r\033[K{}", report::shorten(line, report::page_width() - 1)));
    shown_ = true;
    return;
  }
  constexpr double kPlainSeconds = 5;
  if (line == last_ || (last_ns_ != 0 && base::seconds_between(last_ns_, now) < kPlainSeconds)) return;
  last_ns_ = now;
  last_ = line;
  talk(fmt::format("vramfit: {}\n", line));
}

void TerminalProgress::say(std::string_view line) {
  clear();
  talk(fmt::format("vramfit: {}\n", line));
}

void TerminalProgress::clear() {
  if (shown_) talk("\r\033[K");
  shown_ = false;
}

int report_error(const base::Error& error) {
  talk(fmt::format("vramfit: error: {}\n", to_string(error)));
  return error.code == base::ErrorCode::kInterrupted ? 130 : 2;
}

}  // namespace vramfit::cli
