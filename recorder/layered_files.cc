// What programs take for granted of one file system and an overlay of it does not give (src/isolate), for every program
// of a virtual job that uses the C library:
//
//   rename                 of a folder that was there before the job: overlayfs in a user namespace says EXDEV
//   copy_file_range        from a file that was there before the job into one that was not: EXDEV too
//   chdir, execve          into and of what is only in the layer
//   write, pwrite, writev  of many zeros: a hole. A checkpoint of 14 GB whose tensors were never computed takes no room
//
// Only within a layer (VRAMFIT_LAYER); elsewhere each is the C library's own, but for holes: those spare the disk of a
// job on a virtual card that works on the user's own files, too.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "recorder.h"

namespace {

bool is_layered() {
  const char* value = std::getenv("VRAMFIT_LAYER");
  return value != nullptr && *value == '1';
}

// On a virtual card no values are computed: what is saved is mostly zeros.
bool writes_holes() {
  const char* ledger = std::getenv("VRAMFIT_LEDGER");
  return is_layered() || (ledger != nullptr && *ledger != '\0');
}

// The function that would have been called without us.
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int rename_now(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  return static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

// "a/b/" -> "a"; "b" -> ".".
std::string parent_of(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// A folder that overlayfs will not move: its own kind, on the very file system of its new place.
bool is_folder_of_same_system(int from_folder, const char* from, int to_folder, const char* to) {
  struct stat moved {
  }, from_parent{}, to_parent{};
  return fstatat(from_folder, from, &moved, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(moved.st_mode) &&
         fstatat(from_folder, parent_of(from).c_str(), &from_parent, 0) == 0 &&
         fstatat(to_folder, parent_of(to).c_str(), &to_parent, 0) == 0 && from_parent.st_dev == to_parent.st_dev &&
         moved.st_dev == to_parent.st_dev;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy >= 0 ? fdopendir(copy) : nullptr;
  if (entries == nullptr) return names;
  while (const dirent* entry = readdir(entries)) {
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
  }
  closedir(entries);
  return names;
}

struct Folder {
  int number;
  Folder(int at, const char* path) : number(openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {}
  ~Folder() {
    if (number >= 0) close(number);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

int move_folder(int from_folder, const char* from, int to_folder, const char* to);

// Files can be moved: overlayfs copies them. Folders are made anew around them.
int move_contents(int from, int to) {
  for (const std::string& name : names_in(from)) {
    if (rename_now(from, name.c_str(), to, name.c_str(), 0) == 0) continue;
    if (errno != EXDEV || move_folder(from, name.c_str(), to, name.c_str()) != 0) return -1;
  }
  return 0;
}

int move_folder(int from_folder, const char* from, int to_folder, const char* to) {
  struct stat status {};
  if (fstatat(from_folder, from, &status, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  if (mkdirat(to_folder, to, 0700) != 0) return -1;
  const Folder source(from_folder, from), target(to_folder, to);
  if (source.number < 0 || target.number < 0 || move_contents(source.number, target.number) != 0) {
    const int problem = errno;
    if (source.number >= 0 && target.number >= 0) move_contents(target.number, source.number);
    unlinkat(to_folder, to, AT_REMOVEDIR);
    errno = problem;
    return -1;
  }
  [[maybe_unused]] const int owned = fchown(target.number, status.st_uid, status.st_gid);
  fchmod(target.number, status.st_mode & 07777);
  const timespec times[2] = {status.st_atim, status.st_mtim};
  futimens(target.number, times);
  return unlinkat(from_folder, from, AT_REMOVEDIR);
}

// Does what rename(2) does to a folder, but not in one step: somebody who looks meanwhile sees both halves.
int move_as_rename(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  struct stat there {};
  if (fstatat(to_folder, to, &there, AT_SYMLINK_NOFOLLOW) == 0) {
    if ((flags & RENAME_NOREPLACE) != 0) return errno = EEXIST, -1;
    if (!S_ISDIR(there.st_mode)) return errno = ENOTDIR, -1;
    if (unlinkat(to_folder, to, AT_REMOVEDIR) != 0) return -1;  // ENOTEMPTY, as rename says
  }
  return move_folder(from_folder, from, to_folder, to);
}

int rename_layered(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  const int before = errno;
  const int result = rename_now(from_folder, from, to_folder, to, flags);
  if (result == 0 || errno != EXDEV || (flags & ~RENAME_NOREPLACE) != 0 || !is_layered()) return result;
  if (!is_folder_of_same_system(from_folder, from, to_folder, to)) return errno = EXDEV, -1;
  if (move_as_rename(from_folder, from, to_folder, to, flags) != 0) return -1;
  errno = before;
  return 0;
}

constexpr size_t kManyZeros = 64 << 10;

bool is_zero(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  return size > 0 && bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

// A hole of `size` bytes at `at` of a plain file. Its end is written, never set: others may write behind it meanwhile.
bool make_hole(int file, off_t at, size_t size) {
  struct stat status {};
  const int flags = fcntl(file, F_GETFL);
  if (flags < 0 || (flags & O_APPEND) != 0 || (flags & O_ACCMODE) == O_RDONLY) return false;
  if (at < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const off_t end = at + static_cast<off_t>(size);
  const off_t known = std::min(end, status.st_size);
  if (known > at && fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, known - at) != 0) return false;
  static const auto put = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return end <= status.st_size || put(file, "", 1, end - 1) == 1;
}

bool wrote_hole(int file, const void* data, size_t size, off_t at) {
  if (size < kManyZeros || !is_zero(data, size) || !writes_holes()) return false;
  const int before = errno;
  const bool made = make_hole(file, at, size);
  errno = before;
  return made;
}

bool wrote_hole_here(int file, const void* data, size_t size) {
  if (size < kManyZeros || static_cast<const char*>(data)[0] != 0) return false;
  const off_t at = lseek(file, 0, SEEK_CUR);
  return at >= 0 && wrote_hole(file, data, size, at) && lseek(file, at + static_cast<off_t>(size), SEEK_SET) >= 0;
}

}  // namespace

#define VRAMFIT_EXPORT extern "C" __attribute__((visibility("default")))

VRAMFIT_EXPORT int rename(const char* from, const char* to) noexcept {
  return rename_layered(AT_FDCWD, from, AT_FDCWD, to, 0);
}

VRAMFIT_EXPORT int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return rename_layered(from_folder, from, to_folder, to, 0);
}

VRAMFIT_EXPORT int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                             unsigned flags) noexcept {
  return rename_layered(from_folder, from, to_folder, to, flags);
}

VRAMFIT_EXPORT ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, size_t size,
                                       unsigned flags) {
  const ssize_t copied = syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
  if (copied >= 0 || errno != EXDEV || flags != 0 || !is_layered()) return copied;
  char buffer[1 << 16];
  const size_t part = std::min(size, sizeof buffer);
  const ssize_t got = from_at != nullptr ? pread(from, buffer, part, *from_at) : read(from, buffer, part);
  if (got <= 0) return got;
  const auto wanted = static_cast<size_t>(got);
  const ssize_t put = to_at != nullptr ? pwrite(to, buffer, wanted, *to_at) : write(to, buffer, wanted);
  if (put < 0) return put;
  if (from_at != nullptr) *from_at += put;
  if (from_at == nullptr && put < got) lseek(from, put - got, SEEK_CUR);
  if (to_at != nullptr) *to_at += put;
  return put;
}

VRAMFIT_EXPORT ssize_t write(int file, const void* data, size_t size) {
  static const auto original = next<ssize_t (*)(int, const void*, size_t)>("write");
  return wrote_hole_here(file, data, size) ? static_cast<ssize_t>(size) : original(file, data, size);
}

VRAMFIT_EXPORT ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  static const auto original = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return wrote_hole(file, data, size, at) ? static_cast<ssize_t>(size) : original(file, data, size, at);
}

VRAMFIT_EXPORT ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  return pwrite(file, data, size, at);
}

// Where a supervisor keeps the layer (src/isolate/supervised) the kernel can't go to a folder that is only there by its
// name, but by a descriptor it can; nor run a program.
VRAMFIT_EXPORT int chdir(const char* path) noexcept {
  const int result = static_cast<int>(syscall(SYS_chdir, path));
  if (result == 0 || errno != EXDEV || !is_layered()) return result;
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return -1;
  const int changed = fchdir(folder);
  const int problem = errno;
  close(folder);
  errno = problem;
  return changed;
}

int vramfit::recorder::execute_layered(const char* path, char* const words[], char* const environment[]) {
  static const auto original = next<int (*)(const char*, char* const*, char* const*)>("execve");
  const int result = original(path, words, environment);
  if (errno != ENOENT || !is_layered()) return result;
  const int program = open(path, O_RDONLY);  // stays open: an interpreter reads its script by this number
  if (program < 0) return result;
  syscall(SYS_execveat, program, "", words, environment, AT_EMPTY_PATH);
  const int problem = errno;
  close(program);
  errno = problem;
  return -1;
}

// libstdc++'s streams write what is large so, with what was buffered before it.
VRAMFIT_EXPORT ssize_t writev(int file, const iovec* parts, int count) {
  static const auto original = next<ssize_t (*)(int, const iovec*, int)>("writev");
  const bool has_zeros = std::any_of(parts, parts + std::max(count, 0), [](const iovec& part) {
    return part.iov_len >= kManyZeros && is_zero(part.iov_base, part.iov_len);
  });
  if (!has_zeros || !writes_holes()) return original(file, parts, count);
  ssize_t sum = 0;
  for (const iovec* part = parts; part != parts + count; ++part) {
    const ssize_t put = write(file, part->iov_base, part->iov_len);
    if (put < 0) return sum > 0 ? sum : put;
    sum += put;
    if (static_cast<size_t>(put) < part->iov_len) break;
  }
  return sum;
}
