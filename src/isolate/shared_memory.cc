#include "isolate/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <system_error>
#include <utility>

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::FileDescriptor;
using base::Result;

namespace {

constexpr mode_t kOwnOnly = 0700;

FileDescriptor lock_in(const fs::path& folder) {
  FileDescriptor lock(::open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (lock && ::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) lock.close();
  return lock;
}

}  // namespace

SharedMemoryFolder::SharedMemoryFolder(fs::path folder, FileDescriptor lock)
    : folder_(std::move(folder)), lock_(std::move(lock)) {}

SharedMemoryFolder::SharedMemoryFolder(SharedMemoryFolder&& from) noexcept
    : folder_(std::exchange(from.folder_, {})), lock_(std::move(from.lock_)) {}

SharedMemoryFolder::~SharedMemoryFolder() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

Result<SharedMemoryFolder> SharedMemoryFolder::make(const fs::path& other) {
  const bool has_place = ::access(kPlace, W_OK | X_OK) == 0;
  const fs::path parent = has_place ? fs::path(kPlace) : other;
  std::random_device random;
  const std::string name = fmt::format("{}-{:08x}-shm", ::getpid(), random());
  // Locked before it has the name under which another run looks for what nobody holds any more.
  const fs::path fresh = parent / ("vramfit-new." + name), folder = parent / ("vramfit." + name);
  if (::mkdir(fresh.c_str(), kOwnOnly) != 0) return base::fail_errno("cannot make a folder", fresh.string());
  SharedMemoryFolder made(fresh, lock_in(fresh));
  // Made like /dev/shm: everybody may write, and remove only their own.
  if (!made.lock_ || ::mkdir(made.path().c_str(), kOwnOnly) != 0 || ::chmod(made.path().c_str(), 01777) != 0 ||
      ::rename(fresh.c_str(), folder.c_str()) != 0) {
    return base::fail_errno("cannot make a folder for shared memory", fresh.string());
  }
  made.folder_ = folder;
  return made;
}

}  // namespace vramfit::isolate
