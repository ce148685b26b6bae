// Calls that change a file's length, rights, owner, times and attributes.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "isolate/supervised/calls.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::FileDescriptor;

Answer Calls::truncate() {
  return change(AT_FDCWD, argument(0), true,
                [&](const std::string& place) { return ::truncate(place.c_str(), static_cast<off_t>(argument(1))); });
}

Answer Calls::change_found(const Found& found, const Change& act) {
  if (const int taken = tree_.take(found); taken != 0) return Answer::error(taken);
  tree_.disturb(found.path);
  return Answer::of(act(tree_.mirror_of(found.path)));
}

Answer Calls::change(int folder, std::uint64_t path, bool follow, const Change& act) {
  Found found;
  Answer problem;
  if (!find(folder, path, follow, found, problem)) {
    if (!found.outside || !follow) return problem;
    const std::string link = link_of_process(path);
    return link.empty() ? Answer::kernel() : change_link(link, act);
  }
  if (!found.exists) return Answer::error(ENOENT);
  return change_found(found, act);
}

// A link of the kernel's to a file that a process has open, or to its folders, as we have to call it; empty: the path
// is none. Such a link leads past every name.
std::string Calls::link_of_process(std::uint64_t path) const {
  const auto text = target_.read_text(path);
  if (!text) return "";
  std::string words = fs::path(*text).lexically_normal().string();
  constexpr std::pair<const char*, const char*> kStandIns[] = {{"/dev/fd/", "/proc/self/fd/"},
                                                               {"/dev/stdin", "/proc/self/fd/0"},
                                                               {"/dev/stdout", "/proc/self/fd/1"},
                                                               {"/dev/stderr", "/proc/self/fd/2"}};
  for (const auto& [name, meant] : kStandIns) {
    if (words.starts_with(name)) words = meant + words.substr(std::strlen(name));
  }
  for (const char* self : {"/proc/self/", "/proc/thread-self/"}) {
    if (words.starts_with(self)) words = target_.proc(words.substr(std::strlen(self)).c_str());
  }
  return words.starts_with("/proc/") ? words : "";
}

Calls::Opened Calls::find_opened(const std::string& link, Found& found) {
  // Opened as a name alone, the kernel tells what is at the end of it.
  const FileDescriptor file(::open(link.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0 || status.st_nlink == 0) return Opened::kKernels;
  const std::string real = Target(static_cast<pid_t>(::syscall(SYS_gettid))).descriptor(file.number());
  if (!real.starts_with('/') || tree_.virtual_of(real) != real) return Opened::kKernels;
  found = tree_.find("/", real, false);
  if (found.outside) return Opened::kKernels;
  return found.exists && found.error == 0 ? Opened::kFound : Opened::kGone;
}

Answer Calls::change_link(const std::string& link, const Change& act) {
  Found found;
  switch (find_opened(link, found)) {
    case Opened::kKernels:
      return Answer::kernel();
    case Opened::kFound:
      return change_found(found, act);
    case Opened::kGone:
      break;
  }
  return Answer::done();  // the user's own still has that name, and the job's has none by which it could be seen
}

Answer Calls::change_opened(int descriptor, const Change& act) {
  return change_link(target_.proc(("fd/" + std::to_string(descriptor)).c_str()), act);
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
