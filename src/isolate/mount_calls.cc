#include "isolate/mount_calls.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace vramfit::isolate {

using base::fail_errno;
using base::FileDescriptor;
using base::Result;

namespace {

// linux/mount.h, which can't be included beside sys/mount.h everywhere.
constexpr unsigned kOpenTreeClone = 1, kMoveFromDescriptor = 4, kRecursive = 0x8000;
constexpr std::uint64_t kAttributeReadOnly = 1;
struct Attributes {
  std::uint64_t set, clear, propagation, user_namespace;
};

}  // namespace

Result<void> bind_mount(const std::string& from, const std::string& at) {
  if (::mount(from.c_str(), at.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0) return {};
  return fail_errno("cannot show a folder inside the layer", from);
}

Result<void> make_read_only(const std::string& at) {
  Attributes attributes{kAttributeReadOnly, 0, 0, 0};
  if (::syscall(SYS_mount_setattr, AT_FDCWD, at.c_str(), kRecursive, &attributes, sizeof attributes) == 0) return {};
  return fail_errno("cannot make a file system read-only inside the layer", at);
}

Result<FileDescriptor> take_mount(const std::string& path) {
  FileDescriptor mount(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), kOpenTreeClone | static_cast<unsigned>(O_CLOEXEC))));
  if (!mount) return fail_errno("cannot share a file with the job", path);
  return mount;
}

Result<void> put_mount(const FileDescriptor& mount, const std::string& at) {
  if (::syscall(SYS_move_mount, mount.number(), "", AT_FDCWD, at.c_str(), kMoveFromDescriptor) == 0) return {};
  return fail_errno("cannot share a file with the job", at);
}

Result<void> change_root(const std::string& root) {
  if (::chdir(root.c_str()) != 0) return fail_errno("cannot enter the layer", root);
  // The old root lies on top of the new one then, and is taken off (pivot_root(2), notes).
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return fail_errno("cannot make the layer the root", root);
  if (::umount2(".", MNT_DETACH) != 0) return fail_errno("cannot let go of the root before");
  return {};
}

}  // namespace vramfit::isolate
