#include "base/empty_terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace vramfit::base {
namespace {

FileDescriptor terminal_of(unsigned short rows, unsigned short columns) {
  FileDescriptor made(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize size{rows, columns, 0, 0};
  if (made) ::ioctl(made.number(), TIOCSWINSZ, &size);
  return made;
}

TEST(EmptyTerminal, HasTheSizeOfTheUsersAndNothingToRead) {
  const FileDescriptor users = terminal_of(31, 77);
  ASSERT_TRUE(users);
  const auto empty = EmptyTerminal::like(users.number());
  ASSERT_TRUE(empty);
  for (int round = 0; round < 2; ++round) {  // its settings outlive the first who had it
    const FileDescriptor seen(::open(empty->path().c_str(), O_RDONLY | O_NOCTTY));
    ASSERT_TRUE(seen);
    EXPECT_EQ(::isatty(seen.number()), 1);
    winsize size{};
    ASSERT_EQ(::ioctl(seen.number(), TIOCGWINSZ, &size), 0);
    EXPECT_EQ(size.ws_row, 31);
    EXPECT_EQ(size.ws_col, 77);
    for (int read_again = 0; read_again < 3; ++read_again) {
      char byte = 0;
      EXPECT_EQ(::read(seen.number(), &byte, 1), 0);
    }
  }
}

TEST(EmptyTerminal, IsNoneWhereThereIsNone) {
  const FileDescriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(EmptyTerminal::like(file.number()));
}

}  // namespace
}  // namespace vramfit::base
