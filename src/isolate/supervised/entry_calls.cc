// Calls that make, remove, rename and link entries of folders.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "isolate/supervised/calls.h"

namespace vramfit::isolate {

Answer Calls::make_folder(int folder, std::uint64_t path, mode_t mode) {
  Found found;
  Answer problem;
  if (!find(folder, path, false, found, problem)) return problem;
  if (found.exists) return Answer::error(EEXIST);
  if (problem = parent_ready(found); problem.kind == Answer::Kind::kError) return problem;
  const std::string own = tree_.mirror_of(found.path);
  if (::mkdir(own.c_str(), 0700) != 0) return Answer::error(errno);
  ::chmod(own.c_str(), mode & ~target_.umask() & 01777);
  tree_.made(found.path);
  return Answer::done();
}

Answer Calls::make_node(int folder, std::uint64_t path, mode_t mode, dev_t device) {
  Found found;
  Answer problem;
  if (!find(folder, path, false, found, problem)) return problem;
  if (found.exists) return Answer::error(EEXIST);
  if (problem = parent_ready(found); problem.kind == Answer::Kind::kError) return problem;
  if (::mknod(tree_.mirror_of(found.path).c_str(), mode & ~target_.umask(), device) != 0) return Answer::error(errno);
  tree_.made(found.path);
  return Answer::done();
}

Answer Calls::remove(int folder, std::uint64_t path, bool is_folder) {
  Found found;
  Answer problem;
  if (!find(folder, path, false, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (is_folder != found.is_folder()) return Answer::error(is_folder ? ENOTDIR : EISDIR);
  // A folder shows what it holds before it may go.
  if (is_folder) {
    if (const int ready = tree_.mirror(found.path); ready != 0) return Answer::error(ready);
  } else if (problem = parent_ready(found); problem.kind == Answer::Kind::kError) {
    return problem;
  }
  const std::string own = tree_.mirror_of(found.path);
  struct stat status {};
  if (::lstat(own.c_str(), &status) != 0) return Answer::error(errno);
  tree_.disturb(found.path);
  if ((is_folder ? ::rmdir(own.c_str()) : ::unlink(own.c_str())) != 0) return Answer::error(errno);
  if (is_folder || status.st_nlink == 1) tree_.forget(status);
  return Answer::done();
}

// Two places, both inside. False: `problem` is the answer.
bool Calls::find_both(int from, std::uint64_t from_path, bool is_link, bool follow, int to, std::uint64_t to_path,
                      Found& source, Found& target, Answer& problem) {
  const bool has_source = find(from, from_path, follow, source, problem);
  if (!has_source && !source.outside) return false;
  if (is_link && has_source && !source.exists) return problem = Answer::error(ENOENT), false;  // rename looks later
  const bool has_target = find(to, to_path, false, target, problem);
  if (has_source == has_target) return has_source;
  if (has_source ? target.outside : source.outside) problem = Answer::error(EXDEV);  // the layer ends between them
  return false;
}

Answer Calls::rename(int from, std::uint64_t from_path, int to, std::uint64_t to_path, unsigned flags) {
  Found source, target;
  Answer problem;
  if (!find_both(from, from_path, false, false, to, to_path, source, target, problem)) return problem;
  if (!source.exists) return Answer::error(ENOENT);
  for (const Found* found : {&source, &target}) {
    if (problem = parent_ready(*found); problem.kind == Answer::Kind::kError) return problem;
  }
  if (target.is_folder()) {
    if (const int ready = tree_.mirror(target.path); ready != 0) return Answer::error(ready);
  }
  const std::string own = tree_.mirror_of(source.path), place = tree_.mirror_of(target.path);
  struct stat moved {
  }, replaced{};
  const bool replaces = ::lstat(place.c_str(), &replaced) == 0 && ::lstat(own.c_str(), &moved) == 0 &&
                        moved.st_ino != replaced.st_ino && (S_ISDIR(replaced.st_mode) || replaced.st_nlink == 1);
  tree_.disturb(source.path);
  tree_.disturb(target.path);
  if (::syscall(SYS_renameat2, AT_FDCWD, own.c_str(), AT_FDCWD, place.c_str(), flags) != 0) return Answer::error(errno);
  if (replaces && (flags & RENAME_EXCHANGE) == 0) tree_.forget(replaced);
  return Answer::done();
}

Answer Calls::link(int from, std::uint64_t from_path, int to, std::uint64_t to_path, int flags) {
  Found source, target;
  Answer problem;
  const auto words = target_.read_text(from_path);
  const bool is_opened = words && (((flags & AT_EMPTY_PATH) != 0 && words->empty()) ||
                                   ((flags & AT_SYMLINK_FOLLOW) != 0 && words->starts_with("/proc/self/fd/")));
  const bool are_found = is_opened ? find(to, to_path, false, target, problem)
                                   : find_both(from, from_path, true, (flags & AT_SYMLINK_FOLLOW) != 0, to, to_path,
                                               source, target, problem);
  if (!are_found) return problem;
  if (is_opened) {  // an unnamed file gets a name
    if (target.exists) return Answer::error(EEXIST);
    if (problem = parent_ready(target); problem.kind == Answer::Kind::kError) return problem;
    const std::string real = target_.proc(words->empty() ? ("fd/" + std::to_string(from)).c_str()
                                                         : words->substr(std::strlen("/proc/self/")).c_str());
    const int linked =
        ::linkat(AT_FDCWD, real.c_str(), AT_FDCWD, tree_.mirror_of(target.path).c_str(), AT_SYMLINK_FOLLOW);
    if (linked == 0) tree_.made(target.path);
    return Answer::of(linked);
  }
  if (target.exists) return Answer::error(EEXIST);
  if (source.is_folder()) return Answer::error(EPERM);
  if (problem = parent_ready(target); problem.kind == Answer::Kind::kError) return problem;
  if (const int taken = tree_.take(source); taken != 0) return Answer::error(taken);
  return Answer::of(::link(tree_.mirror_of(source.path).c_str(), tree_.mirror_of(target.path).c_str()));
}

Answer Calls::link_symbolic(std::uint64_t text, int folder, std::uint64_t path) {
  const auto words = target_.read_text(text);
  Found found;
  Answer problem;
  if (!words) return Answer::error(EFAULT);
  if (!find(folder, path, false, found, problem)) return problem;
  if (found.exists) return Answer::error(EEXIST);
  if (problem = parent_ready(found); problem.kind == Answer::Kind::kError) return problem;
  if (::symlink(words->c_str(), tree_.mirror_of(found.path).c_str()) != 0) return Answer::error(errno);
  tree_.made(found.path);
  return Answer::done();
}

}  // namespace vramfit::isolate
