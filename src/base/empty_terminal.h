// The terminal of a job that nobody talks to: it has the size of the user's, and whoever reads from it is at its end.
//
// Scripts ask their stdin how wide the screen is (`stty size`) and fail where it is no terminal. The user's own can't
// be theirs while several runs go on beside each other: one that reads from it would be stopped by the kernel, or
// take what was typed for somebody else.
#ifndef VRAMFIT_BASE_EMPTY_TERMINAL_H
#define VRAMFIT_BASE_EMPTY_TERMINAL_H

#include <optional>
#include <string>

#include "base/file.h"

namespace vramfit::base {

class EmptyTerminal {
 public:
  // A terminal as large as the one behind `terminal`. Nothing where that is none, or no pseudo-terminal can be had.
  static std::optional<EmptyTerminal> like(int terminal);
  // Exists as long as this does.
  const std::string& path() const { return path_; }

 private:
  EmptyTerminal(FileDescriptor controller, FileDescriptor end, std::string path);

  FileDescriptor controller_, end_;  // the end stays open: with its last user its settings would go
  std::string path_;
};

// What a job reads that runs in the background: an empty terminal where vramfit has one, else /dev/null.
const std::string& background_input();

}  // namespace vramfit::base

#endif
