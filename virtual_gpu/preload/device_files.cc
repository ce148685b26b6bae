// /dev/nvidia0 and its like: programs look for them before they load a CUDA library (JAX takes a machine without them
// for one without a card). They are there to be seen, one for each virtual card, and can't be opened: nobody but the
// real driver speaks to them.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "virtual_gpu/ledger/ledger.h"

namespace {

constexpr unsigned kNvidiaMajor = 195;  // of the Linux kernel's list of devices
constexpr unsigned kControlMinor = 255;

// The minor number of the device file that `path` would be on a machine with these cards.
std::optional<unsigned> minor_of(const char* path) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  if (path == nullptr || std::strncmp(path, kPrefix.data(), kPrefix.size()) != 0) return std::nullopt;
  const std::string_view rest(path + kPrefix.size());
  if (rest == "ctl") return kControlMinor;
  unsigned card = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), card);
  if (error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  return static_cast<int>(card) < vramfit::ledger::card_count() ? std::optional(card) : std::nullopt;
}

template <class Status>
int describe(unsigned minor, Status* status) {
  *status = {};
  status->st_mode = S_IFCHR | 0666;
  status->st_nlink = 1;
  status->st_rdev = makedev(kNvidiaMajor, minor);
  return 0;
}

}  // namespace

extern "C" {

VF_EXPORT int stat(const char* path, struct stat* status) noexcept;
VF_EXPORT int stat64(const char* path, struct stat64* status) noexcept;
VF_EXPORT int lstat(const char* path, struct stat* status) noexcept;
VF_EXPORT int lstat64(const char* path, struct stat64* status) noexcept;
VF_EXPORT int __xstat(int version, const char* path, struct stat* status) noexcept;
VF_EXPORT int __xstat64(int version, const char* path, struct stat64* status) noexcept;
VF_EXPORT int access(const char* path, int mode) noexcept;

int stat(const char* path, struct stat* status) noexcept {
  if (const auto minor = minor_of(path)) return describe(*minor, status);
  return fstatat(AT_FDCWD, path, status, 0);
}

int stat64(const char* path, struct stat64* status) noexcept {
  if (const auto minor = minor_of(path)) return describe(*minor, status);
  return fstatat64(AT_FDCWD, path, status, 0);
}

int lstat(const char* path, struct stat* status) noexcept {
  if (const auto minor = minor_of(path)) return describe(*minor, status);
  return fstatat(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

int lstat64(const char* path, struct stat64* status) noexcept {
  if (const auto minor = minor_of(path)) return describe(*minor, status);
  return fstatat64(AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
}

// What programs built with glibc before 2.33 call.
int __xstat(int, const char* path, struct stat* status) noexcept { return stat(path, status); }
int __xstat64(int, const char* path, struct stat64* status) noexcept { return stat64(path, status); }

int access(const char* path, int mode) noexcept {
  if (!minor_of(path)) return faccessat(AT_FDCWD, path, mode, 0);
  if ((mode & X_OK) == 0) return 0;
  errno = EACCES;
  return -1;
}

}  // extern "C"
