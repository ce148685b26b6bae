// Calls that look at files and folders, and where the job stands.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "isolate/supervised/calls.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;

// 0, or why it can't be had. After it `found` is what an opened folder is.
int Calls::settle(Found& found) {
  if (!is_moved_folder(found)) return 0;
  if (const int problem = tree_.mirror(found.path); problem != 0) return problem;
  found.place = tree_.mirror_of(found.path);
  return ::lstat(found.place.c_str(), &found.status) == 0 ? 0 : errno;
}

Answer Calls::look(int folder, std::uint64_t path, std::uint64_t into, bool follow) {
  Found found;
  Answer problem;
  if (!find(folder, path, follow, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (found.clean && !tree_.is_mirrored(found)) return Answer::kernel();
  if (const int why = settle(found); why != 0) return Answer::error(why);
  return target_.write(into, &found.status, sizeof found.status) ? Answer::done() : Answer::error(EFAULT);
}

// statx(folder, path, flags, mask, into)
Answer Calls::look_closer() {
  const int flags = number(2);
  const auto path = target_.read_text(argument(1));
  if ((flags & AT_EMPTY_PATH) != 0 && (!path || path->empty())) return Answer::kernel();
  Found found;
  Answer problem;
  if (!find(number(0), argument(1), (flags & AT_SYMLINK_NOFOLLOW) == 0, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (found.clean && !tree_.is_mirrored(found)) return Answer::kernel();
  if (const int why = settle(found); why != 0) return Answer::error(why);
  struct statx status {};
  if (::statx(AT_FDCWD, found.place.c_str(), AT_SYMLINK_NOFOLLOW, static_cast<unsigned>(argument(3)), &status) != 0) {
    return Answer::error(errno);
  }
  return target_.write(argument(4), &status, sizeof status) ? Answer::done() : Answer::error(EFAULT);
}

Answer Calls::access(int folder, std::uint64_t path, int wanted, int flags) {
  Found found;
  Answer problem;
  if (!find(folder, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (found.clean) return Answer::kernel();
  return Answer::of(::faccessat(AT_FDCWD, found.place.c_str(), wanted, flags & AT_EACCESS));
}

Answer Calls::read_link(int folder, std::uint64_t path, std::uint64_t into, std::uint64_t size) {
  const auto words = target_.read_text(path);
  std::string text;
  if (words && words->starts_with("/proc/")) {
    // The job's own folder and open files are called by their virtual names.
    std::string real = *words;
    for (const char* self : {"/proc/self/", "/proc/thread-self/"}) {
      if (real.starts_with(self)) real = target_.proc(real.substr(std::strlen(self)).c_str());
    }
    std::error_code problem;
    const std::string found = fs::read_symlink(real, problem).string();
    text = tree_.virtual_of(found);
    if (problem || text == found) return Answer::kernel();
  } else {
    Found found;
    Answer problem;
    if (!find(folder, path, false, found, problem)) return problem;
    if (!found.exists) return Answer::error(ENOENT);
    if (found.clean) return Answer::kernel();
    if (!S_ISLNK(found.status.st_mode)) return Answer::error(EINVAL);
    std::error_code ignored;
    text = fs::read_symlink(found.place, ignored).string();
  }
  const std::size_t length = std::min<std::size_t>(text.size(), size);
  return target_.write(into, text.data(), length) ? Answer::done(static_cast<std::int64_t>(length))
                                                  : Answer::error(EFAULT);
}

// The kernel can only go to folders that are there for it. The preloaded library goes to others by a descriptor.
Answer Calls::change_folder() {
  Found found;
  Answer problem;
  if (!find(AT_FDCWD, argument(0), true, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (!found.is_folder()) return Answer::error(ENOTDIR);
  if (found.clean) return Answer::kernel();
  return Answer::error(EXDEV);
}

Answer Calls::tell_folder() {
  const std::string real = target_.folder(), path = tree_.virtual_of(real);
  if (real == path) return Answer::kernel();
  if (path.size() + 1 > argument(1)) return Answer::error(ERANGE);
  return target_.write(argument(0), path.c_str(), path.size() + 1)
             ? Answer::done(static_cast<std::int64_t>(path.size() + 1))
             : Answer::error(EFAULT);
}

Answer Calls::tell_room() {
  Found found;
  Answer problem;
  if (!find(AT_FDCWD, argument(0), true, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (found.clean) return Answer::kernel();
  struct statfs room {};
  if (::statfs(found.place.c_str(), &room) != 0) return Answer::error(errno);
  return target_.write(argument(1), &room, sizeof room) ? Answer::done() : Answer::error(EFAULT);
}

// getxattr(path, name, value, size), and listxattr(path, list, size) with `name` empty
Answer Calls::tell_attributes(bool follow, bool is_list) {
  Found found;
  Answer problem;
  if (!find(AT_FDCWD, argument(0), follow, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (found.clean) return Answer::kernel();
  const std::uint64_t into = argument(is_list ? 1 : 2), size = argument(is_list ? 2 : 3);
  const auto name = is_list ? std::optional<std::string>("") : target_.read_text(argument(1), 256);
  if (!name) return Answer::error(EFAULT);
  std::vector<char> value(std::min<std::uint64_t>(size, 65536));
  const ssize_t got = is_list ? ::llistxattr(found.place.c_str(), value.data(), value.size())
                              : ::lgetxattr(found.place.c_str(), name->c_str(), value.data(), value.size());
  if (got < 0) return Answer::error(errno);
  if (size > 0 && !target_.write(into, value.data(), static_cast<std::size_t>(got))) return Answer::error(EFAULT);
  return Answer::done(got);
}

}  // namespace vramfit::isolate
