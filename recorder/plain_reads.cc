// Reads of files that a supervised job (src/isolate/supervised) has not changed, without asking the supervisor: what
// Python's imports and a data loader do thousands of times. Which folders those are is in a table that the supervisor
// shares (vramfit/plain_folders.h). A link as the last word leads elsewhere, and is asked for.
//
// Without a supervisor each function is the plain system call. Those that end in 64 are the same on this machine; those
// that begin with __x are what programs call that were built before glibc 2.33.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "vramfit/plain_folders.h"

namespace {

constexpr int kHarmless = O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_LARGEFILE;
constexpr int kHarmlessAt = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_FORCE_SYNC | AT_STATX_DONT_SYNC;

vf_plain_folders none;  // stands for "there is no supervisor"; never looked at
std::atomic<vf_plain_folders*> known{nullptr};

vf_plain_folders* ask_for_table() {
  const long file = syscall(SYS_openat, AT_FDCWD, nullptr, O_RDONLY | O_CLOEXEC, 0, 0, VF_PLAIN_ASK);
  if (file < 0) return &none;
  void* table = mmap(nullptr, sizeof(vf_plain_folders), PROT_READ, MAP_SHARED, static_cast<int>(file), 0);
  close(static_cast<int>(file));
  return table == MAP_FAILED ? &none : static_cast<vf_plain_folders*>(table);
}

// It is asked for once in a process; a fork has its parent's. Null: there is none. A process outside of any layer may
// still enter one. No locks and no allocations: others call us between fork and exec.
const vf_plain_folders* find_table() {
  vf_plain_folders* table = known.load(std::memory_order_acquire);
  if (table == nullptr) {
    const char* layer = std::getenv("VRAMFIT_LAYER");
    if (layer == nullptr || *layer != '1') return nullptr;
    table = ask_for_table();
    vf_plain_folders* before = nullptr;
    if (!known.compare_exchange_strong(before, table)) {
      if (table != &none) munmap(table, sizeof *table);
      table = before;
    }
  }
  return table == &none ? nullptr : table;
}

bool contains(const vf_plain_folders& table, const char* words, size_t size) {
  const uint64_t hash = vf_plain_hash(words, size);
  for (uint32_t i = 0; i < VF_PLAIN_PROBES; ++i) {
    const uint64_t* slot = &table.slots[(vf_plain_first(hash) + i) % VF_PLAIN_SLOTS];
    if (__atomic_load_n(slot, __ATOMIC_ACQUIRE) == hash) return true;
  }
  return false;
}

// The path of a plain folder, or of an entry of one. One that is relative to the working folder is named as from the
// top: the supervisor sees the same words. Relative to another `folder`: asked for.
bool is_plain(int folder, const char* path) {
  if (path == nullptr || *path == '\0' || (*path != '/' && folder != AT_FDCWD)) return false;
  const char* slash = std::strrchr(path, '/');
  const char* name = slash != nullptr ? slash + 1 : path;
  if (*name == '\0' || std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) return false;
  const vf_plain_folders* table = find_table();
  if (table == nullptr) return false;
  char whole[2048];
  if (*path != '/') {
    const long size = syscall(SYS_getcwd, whole, sizeof whole, 0, 0, 0, VF_PLAIN_READ);  // with the zero at its end
    if (size < 3 || *whole != '/' || static_cast<size_t>(size) + std::strlen(path) >= sizeof whole) return false;
    whole[size - 1] = '/';
    std::strcpy(whole + size, path);
    path = whole;
    slash = std::strrchr(path, '/');
  }
  return contains(*table, path, static_cast<size_t>(slash - path)) || contains(*table, path, std::strlen(path));
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  const int before = errno;
  if ((flags & ~kHarmless) == 0 && is_plain(folder, path)) {
    const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags | O_NOFOLLOW, 0, 0, VF_PLAIN_READ));
    // A link is ELOOP, or ENOTDIR where a folder is wanted.
    if (file >= 0 || (flags & O_NOFOLLOW) != 0 || (errno != ELOOP && errno != ENOTDIR)) return file;
    errno = before;
  }
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode, 0, 0));
}

// `into`: struct stat or stat64, which are one.
int status_at(int folder, const char* path, void* into, int flags) {
  if ((flags & ~kHarmlessAt) == 0 && is_plain(folder, path)) {
    const auto result =
        static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, into, flags | AT_SYMLINK_NOFOLLOW, 0, VF_PLAIN_READ));
    if (result != 0 || (flags & AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(static_cast<struct stat*>(into)->st_mode)) {
      return result;
    }
  }
  return static_cast<int>(syscall(SYS_newfstatat, folder, path, into, flags, 0, 0));
}

int closer_status_at(int folder, const char* path, int flags, unsigned mask, struct statx* into) {
  if ((flags & ~kHarmlessAt) == 0 && is_plain(folder, path)) {
    const auto result = static_cast<int>(
        syscall(SYS_statx, AT_FDCWD, path, flags | AT_SYMLINK_NOFOLLOW, mask | STATX_TYPE, into, VF_PLAIN_READ));
    if (result != 0 || (flags & AT_SYMLINK_NOFOLLOW) != 0 || !S_ISLNK(into->stx_mode)) return result;
  }
  static const auto original =
      reinterpret_cast<int (*)(int, const char*, int, unsigned, struct statx*)>(dlsym(RTLD_NEXT, "statx"));
  return original(folder, path, flags, mask, into);
}

// Its own way without faccessat2, which old kernels lack, is the C library's.
int may_at(int folder, const char* path, int wanted, int flags) {
  struct stat status {};
  if (flags == 0 && is_plain(folder, path)) {
    const auto result =
        static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW, 0, VF_PLAIN_READ));
    if (result != 0 || (wanted == F_OK && !S_ISLNK(status.st_mode))) return result;
    if (!S_ISLNK(status.st_mode)) {
      return static_cast<int>(syscall(SYS_faccessat2, AT_FDCWD, path, wanted, 0, 0, VF_PLAIN_READ));
    }
  }
  if (flags == 0) return static_cast<int>(syscall(SYS_faccessat, folder, path, wanted));
  static const auto original = reinterpret_cast<int (*)(int, const char*, int, int)>(dlsym(RTLD_NEXT, "faccessat"));
  return original(folder, path, wanted, flags);
}

ssize_t text_of_link_at(int folder, const char* path, char* into, size_t size) {
  if (is_plain(folder, path)) return syscall(SYS_readlinkat, AT_FDCWD, path, into, size, 0, VF_PLAIN_READ);
  return syscall(SYS_readlinkat, folder, path, into, size, 0, 0);
}

// A name that the supervisor gave (socket_calls.cc) is not the one that the job did.
bool may_be_given(const sockaddr* name, socklen_t size, socklen_t room) {
  constexpr char kGiven[] = "/proc/self/fd/";
  constexpr size_t kLength = sizeof kGiven - 1, kPath = offsetof(sockaddr_un, sun_path);
  if (room < sizeof name->sa_family || name->sa_family != AF_UNIX || size <= kPath) return false;
  return room < kPath + kLength || std::strncmp(reinterpret_cast<const char*>(name) + kPath, kGiven, kLength) == 0;
}

int name_of_socket(int file, sockaddr* into, socklen_t* size) {
  const socklen_t room = *size;
  const auto result = static_cast<int>(syscall(SYS_getsockname, file, into, size, 0, 0, VF_PLAIN_READ));
  if (result != 0 || !may_be_given(into, *size, room)) return result;
  *size = room;
  return static_cast<int>(syscall(SYS_getsockname, file, into, size, 0, 0, 0));
}

// The kernel's name of the working folder is the job's, unless it is where the supervisor keeps what was changed: in a
// folder of a session of vramfit, which are named after it. Python asks at every import of a program without a file.
long name_of_folder(char* into, size_t size) {
  const long length = syscall(SYS_getcwd, into, size, 0, 0, 0, VF_PLAIN_READ);
  if (length > 0 && std::strstr(into, "/vramfit") == nullptr) return length;
  return syscall(SYS_getcwd, into, size, 0, 0, 0, 0);
}

// The mode of open(), which is there only where a file may be made.
mode_t mode_of(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? static_cast<mode_t>(va_arg(more, unsigned)) : 0;
}

}  // namespace

#define VRAMFIT_EXPORT extern "C" __attribute__((visibility("default")))

VRAMFIT_EXPORT int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at(AT_FDCWD, path, flags, mode);
}

VRAMFIT_EXPORT int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at(AT_FDCWD, path, flags, mode);
}

VRAMFIT_EXPORT int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at(folder, path, flags, mode);
}

VRAMFIT_EXPORT int openat64(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at(folder, path, flags, mode);
}

VRAMFIT_EXPORT DIR* opendir(const char* path) {
  const int folder = open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) return nullptr;
  DIR* entries = fdopendir(folder);
  if (entries == nullptr) close(folder);
  return entries;
}

VRAMFIT_EXPORT int stat(const char* path, struct stat* into) noexcept { return status_at(AT_FDCWD, path, into, 0); }
VRAMFIT_EXPORT int lstat(const char* path, struct stat* into) noexcept {
  return status_at(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);
}
VRAMFIT_EXPORT int fstatat(int folder, const char* path, struct stat* into, int flags) noexcept {
  return status_at(folder, path, into, flags);
}
VRAMFIT_EXPORT int stat64(const char* path, struct stat64* into) noexcept { return status_at(AT_FDCWD, path, into, 0); }
VRAMFIT_EXPORT int lstat64(const char* path, struct stat64* into) noexcept {
  return status_at(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);
}
VRAMFIT_EXPORT int fstatat64(int folder, const char* path, struct stat64* into, int flags) noexcept {
  return status_at(folder, path, into, flags);
}
VRAMFIT_EXPORT int __xstat(int, const char* path, void* into) noexcept { return status_at(AT_FDCWD, path, into, 0); }
VRAMFIT_EXPORT int __xstat64(int, const char* path, void* into) noexcept { return status_at(AT_FDCWD, path, into, 0); }
VRAMFIT_EXPORT int __lxstat(int, const char* path, void* into) noexcept {
  return status_at(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);
}
VRAMFIT_EXPORT int __lxstat64(int, const char* path, void* into) noexcept {
  return status_at(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);
}
VRAMFIT_EXPORT int __fxstatat(int, int folder, const char* path, void* into, int flags) noexcept {
  return status_at(folder, path, into, flags);
}
VRAMFIT_EXPORT int __fxstatat64(int, int folder, const char* path, void* into, int flags) noexcept {
  return status_at(folder, path, into, flags);
}
VRAMFIT_EXPORT int statx(int folder, const char* path, int flags, unsigned mask, struct statx* into) noexcept {
  return closer_status_at(folder, path, flags, mask, into);
}

VRAMFIT_EXPORT int access(const char* path, int wanted) noexcept { return may_at(AT_FDCWD, path, wanted, 0); }
VRAMFIT_EXPORT int faccessat(int folder, const char* path, int wanted, int flags) noexcept {
  return may_at(folder, path, wanted, flags);
}

VRAMFIT_EXPORT int getsockname(int file, sockaddr* into, socklen_t* size) noexcept {
  if (into == nullptr || size == nullptr || find_table() == nullptr) {
    return static_cast<int>(syscall(SYS_getsockname, file, into, size, 0, 0, 0));
  }
  return name_of_socket(file, into, size);
}

// A null `into` is the C library's to allocate, and a name that does not begin at the top its to judge.
VRAMFIT_EXPORT char* getcwd(char* into, size_t size) noexcept {
  static const auto original = reinterpret_cast<char* (*)(char*, size_t)>(dlsym(RTLD_NEXT, "getcwd"));
  if (into == nullptr || size == 0 || find_table() == nullptr) return original(into, size);
  const long length = name_of_folder(into, size);
  return length > 0 && *into == '/' ? into : original(into, size);
}

VRAMFIT_EXPORT ssize_t readlink(const char* path, char* into, size_t size) noexcept {
  return text_of_link_at(AT_FDCWD, path, into, size);
}
VRAMFIT_EXPORT ssize_t readlinkat(int folder, const char* path, char* into, size_t size) noexcept {
  return text_of_link_at(folder, path, into, size);
}
