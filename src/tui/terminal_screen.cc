#include "tui/terminal_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

namespace vramfit::tui {

namespace {

std::atomic<bool> resized = false;
struct sigaction winch_before {};

void remember_resize(int) { resized.store(true); }

// The other page of the terminal, no cursor, no wrapping at the right edge; and back.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[?7l\033[2J";
constexpr std::string_view kLeave = "\033[0m\033[?7h\033[?25h\033[?1049l";
// Terminals that know it show a picture at once instead of in pieces; others ignore it.
constexpr std::string_view kBeginPicture = "\033[?2026h", kEndPicture = "\033[?2026l";

bool send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int terminal_columns(int file, int otherwise) {
  winsize window{};
  return ::ioctl(file, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : otherwise;
}

base::Result<TerminalScreen> TerminalScreen::open(bool colour) {
  TerminalScreen screen;
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &screen.before_) != 0) {
    return base::fail(base::ErrorCode::kUsage, "there is no terminal to draw on", "", "vramfit watch --once");
  }
  termios raw = screen.before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;  // a stopped program would leave the terminal as it is now
  if (::tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0) return base::fail_errno("cannot set the terminal up");
  struct sigaction action {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = remember_resize;
  ::sigaction(SIGWINCH, &action, &winch_before);
  screen.active_ = true;
  screen.colour_ = colour;
  send(kEnter);
  return screen;
}

TerminalScreen::TerminalScreen(TerminalScreen&& other) noexcept
    : active_(std::exchange(other.active_, false)),
      colour_(other.colour_),
      gone_(other.gone_),
      before_(other.before_),
      input_(std::move(other.input_)),
      shown_(std::move(other.shown_)) {}

TerminalScreen::~TerminalScreen() {
  if (!active_) return;
  send(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  ::sigaction(SIGWINCH, &winch_before, nullptr);
}

Size TerminalScreen::size() const {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 || window.ws_row == 0) return {};
  return {window.ws_col, window.ws_row};
}

void TerminalScreen::show(const CellGrid& grid) {
  const std::string changes = grid.to_escapes(shown_ ? &*shown_ : nullptr, colour_);
  if (!changes.empty()) gone_ = !send(std::string(kBeginPicture) + changes + std::string(kEndPicture)) || gone_;
  shown_ = grid;
}

std::optional<Key> TerminalScreen::wait_for_key(std::int64_t most_ns) {
  constexpr int kEscapeMs = 30;  // the rest of a sequence follows sooner than that
  Key key;
  if (take_key(input_, key, false)) return key;
  const bool half = !input_.empty();
  pollfd waiting{STDIN_FILENO, POLLIN, 0};
  const timespec limit{most_ns / 1'000'000'000, most_ns % 1'000'000'000};
  const timespec brief{0, kEscapeMs * 1'000'000};
  if (resized.exchange(false)) return std::nullopt;
  const int ready = ::ppoll(&waiting, 1, half ? &brief : &limit, nullptr);
  if (ready > 0) {
    std::array<char, 256> bytes;
    const ssize_t got = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got > 0) input_.append(bytes.data(), static_cast<std::size_t>(got));
    if (got == 0 && (waiting.revents & POLLHUP) != 0) gone_ = true;
  }
  resized.store(false);
  const bool no_more = half && ready == 0;
  return take_key(input_, key, no_more) ? std::optional(key) : std::nullopt;
}

}  // namespace vramfit::tui
