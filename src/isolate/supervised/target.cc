#include "isolate/supervised/target.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace vramfit::isolate {

namespace {

constexpr std::uint64_t kPage = 4096;

}  // namespace

// Up to the end of each page: what lies behind the text may not be mapped.
std::optional<std::string> Target::read_text(std::uint64_t address, std::size_t most) const {
  std::string text;
  char part[kPage];
  while (text.size() < most) {
    const std::size_t size = static_cast<std::size_t>(kPage - address % kPage);
    const iovec ours{part, size}, theirs{reinterpret_cast<void*>(address), size};
    const ssize_t got = ::process_vm_readv(thread_, &ours, 1, &theirs, 1, 0);
    if (got <= 0) return std::nullopt;
    const void* end = std::memchr(part, 0, static_cast<std::size_t>(got));
    if (end != nullptr) return text + part;
    text.append(part, static_cast<std::size_t>(got));
    address += static_cast<std::uint64_t>(got);
  }
  return std::nullopt;
}

bool Target::read(std::uint64_t address, void* into, std::size_t size) const {
  const iovec ours{into, size}, theirs{reinterpret_cast<void*>(address), size};
  return ::process_vm_readv(thread_, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(size);
}

bool Target::write(std::uint64_t address, const void* from, std::size_t size) const {
  const iovec ours{const_cast<void*>(from), size}, theirs{reinterpret_cast<void*>(address), size};
  return ::process_vm_writev(thread_, &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(size);
}

std::string Target::proc(const char* name) const { return fmt::format("/proc/{}/{}", thread_, name); }

std::string Target::folder() const {
  std::error_code problem;
  return std::filesystem::read_symlink(proc("cwd"), problem).string();
}

std::string Target::descriptor(int number) const {
  std::error_code problem;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", thread_, number), problem).string();
}

std::string Target::status(const char* field) const {
  std::ifstream lines(proc("status"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(field)) return line.substr(std::strlen(field));
  }
  return "";
}

base::FileDescriptor Target::take(int number) const {
  const auto process = static_cast<pid_t>(std::atoi(status("Tgid:").c_str()));
  const base::FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!handle) return {};
  return base::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_getfd, handle.number(), number, 0)));
}

std::uint64_t Target::socket(int number) const {
  constexpr std::string_view kPrefix = "socket:[";
  const std::string name = descriptor(number);
  return name.starts_with(kPrefix) ? std::strtoull(name.c_str() + kPrefix.size(), nullptr, 10) : 0;
}

mode_t Target::umask() const {
  const std::string mask = status("Umask:");
  return mask.empty() ? 022 : static_cast<mode_t>(std::strtoul(mask.c_str(), nullptr, 8));
}

}  // namespace vramfit::isolate
