#include "base/empty_terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

namespace vramfit::base {

namespace {

// A read returns at once with what is there, which is nothing.
bool end_every_read(int terminal) {
  termios settings{};
  if (::tcgetattr(terminal, &settings) != 0) return false;
  settings.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  settings.c_cc[VMIN] = 0;
  settings.c_cc[VTIME] = 0;
  return ::tcsetattr(terminal, TCSANOW, &settings) == 0;
}

}  // namespace

EmptyTerminal::EmptyTerminal(FileDescriptor controller, FileDescriptor end, std::string path)
    : controller_(std::move(controller)), end_(std::move(end)), path_(std::move(path)) {}

std::optional<EmptyTerminal> EmptyTerminal::like(int terminal) {
  winsize size{};
  if (::isatty(terminal) == 0 || ::ioctl(terminal, TIOCGWINSZ, &size) != 0) return std::nullopt;
  FileDescriptor controller(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[64];
  if (!controller || ::grantpt(controller.number()) != 0 || ::unlockpt(controller.number()) != 0 ||
      ::ptsname_r(controller.number(), name, sizeof name) != 0) {
    return std::nullopt;
  }
  FileDescriptor end(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!end || !end_every_read(end.number()) || ::ioctl(end.number(), TIOCSWINSZ, &size) != 0) return std::nullopt;
  return EmptyTerminal(std::move(controller), std::move(end), name);
}

const std::string& background_input() {
  static const std::optional<EmptyTerminal> kTerminal = EmptyTerminal::like(STDIN_FILENO);
  static const std::string kNothing = "/dev/null";
  return kTerminal ? kTerminal->path() : kNothing;
}

}  // namespace vramfit::base
