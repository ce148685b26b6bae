// A process that waits in a system call: its memory, its folder and its descriptors, as a supervisor sees them.
#ifndef VRAMFIT_ISOLATE_SUPERVISED_TARGET_H
#define VRAMFIT_ISOLATE_SUPERVISED_TARGET_H

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"

namespace vramfit::isolate {

class Target {
 public:
  explicit Target(pid_t thread) : thread_(thread) {}

  std::optional<std::string> read_text(std::uint64_t address, std::size_t most = 4096) const;
  bool read(std::uint64_t address, void* into, std::size_t size) const;
  bool write(std::uint64_t address, const void* from, std::size_t size) const;
  std::string folder() const;                   // what the kernel calls its working folder; empty: gone
  std::string descriptor(int number) const;     // what the kernel calls an open file; empty: there is none
  base::FileDescriptor take(int number) const;  // the same open file as ours too; none: it may not be had
  std::uint64_t socket(int number) const;       // the number of a socket; 0: it is none
  mode_t umask() const;
  std::string proc(const char* name) const;  // "/proc/PID/NAME"

 private:
  std::string status(const char* field) const;

  pid_t thread_;
};

}  // namespace vramfit::isolate

#endif
