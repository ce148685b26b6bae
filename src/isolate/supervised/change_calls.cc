// Calls that change a file's length, rights, owner, times and attributes.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "isolate/supervised/calls.h"

namespace vramfit::isolate {

Answer Calls::truncate() {
  return change(AT_FDCWD, argument(0), true,
                [&](const std::string& place) { return ::truncate(place.c_str(), static_cast<off_t>(argument(1))); });
}

Answer Calls::change(int folder, std::uint64_t path, bool follow, const Change& act) {
  Found found;
  Answer problem;
  if (!find(folder, path, follow, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (const int taken = tree_.take(found); taken != 0) return Answer::error(taken);
  tree_.disturb(found.path);
  return Answer::of(act(tree_.mirror_of(found.path)));
}

Answer Calls::change_opened(int descriptor, const Change& act) {
  Found found;
  if (!find_opened(descriptor, found)) return Answer::kernel();
  if (const int taken = tree_.take(found); taken != 0) return Answer::error(taken);
  tree_.disturb(found.path);
  return Answer::of(act(tree_.mirror_of(found.path)));
}

Answer Calls::change_times(int folder, std::uint64_t path, const timespec* times, bool follow) {
  const auto act = [&](const std::string& place) {
    return ::utimensat(AT_FDCWD, place.c_str(), times, AT_SYMLINK_NOFOLLOW);
  };
  return path == 0 ? change_opened(folder, act) : change(folder, path, follow, act);
}

// setxattr(path, name, value, size, flags), lsetxattr, fsetxattr
Answer Calls::set_attribute(bool follow, bool is_opened) {
  const auto name = target_.read_text(argument(1), 256);
  std::vector<char> value(std::min<std::uint64_t>(argument(3), 65536));
  if (!name || !target_.read(argument(2), value.data(), value.size())) return Answer::error(EFAULT);
  const auto act = [&](const std::string& place) {
    return ::lsetxattr(place.c_str(), name->c_str(), value.data(), value.size(), number(4));
  };
  return is_opened ? change_opened(number(0), act) : change(AT_FDCWD, argument(0), follow, act);
}

Answer Calls::remove_attribute(bool follow, bool is_opened) {
  const auto name = target_.read_text(argument(1), 256);
  if (!name) return Answer::error(EFAULT);
  const auto act = [&](const std::string& place) { return ::lremovexattr(place.c_str(), name->c_str()); };
  return is_opened ? change_opened(number(0), act) : change(AT_FDCWD, argument(0), follow, act);
}

}  // namespace vramfit::isolate
