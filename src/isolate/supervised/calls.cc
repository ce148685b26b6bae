#include "isolate/supervised/calls.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::FileDescriptor;

namespace {

constexpr std::uint64_t kWriting = O_WRONLY | O_RDWR | O_TRUNC;
constexpr unsigned kFchmodat2 = 452;

struct OpenHow {
  std::uint64_t flags, mode, resolve;
};

std::string folder_of(const std::string& path) { return fs::path(path).parent_path().string(); }

bool is_special(const Found& found) {
  return found.exists && !S_ISREG(found.status.st_mode) && !S_ISDIR(found.status.st_mode) &&
         !S_ISLNK(found.status.st_mode);
}

}  // namespace

Answer Answer::of(int result) { return result < 0 ? error(errno) : done(result); }

// The virtual folder that a relative path starts from.
std::string Calls::base_of(int folder) {
  const std::string real = folder == AT_FDCWD ? target_.folder() : target_.descriptor(folder);
  const std::string path = tree_.virtual_of(real);
  if (folder != AT_FDCWD && real == path) opened_.emplace_back(folder, path);
  return path;
}

std::vector<Calls::Swap> Calls::find_swaps() const {
  std::vector<Swap> swaps;
  for (const auto& [descriptor, path] : opened_) {
    const Found found = tree_.find("/", path, false);
    if (found.outside || !shows_mirror(found)) continue;
    FileDescriptor file(::open(found.place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (file) swaps.push_back({descriptor, std::move(file)});
  }
  return swaps;
}

// A folder whose entries are not those that the kernel would list.
bool Calls::shows_mirror(const Found& found) const { return found.is_folder() && tree_.is_mirrored(found); }

// False: `problem` is the answer.
bool Calls::find(int folder, std::uint64_t text, bool follow, Found& found, Answer& problem) {
  const auto path = target_.read_text(text);
  if (!path) {
    problem = Answer::kernel();  // it will say EFAULT or ENAMETOOLONG
    return false;
  }
  const std::string from = path->starts_with('/') ? "/" : base_of(folder);
  if (!from.starts_with('/')) {
    problem = Answer::kernel();  // a descriptor of no folder, or a folder that was removed
    return false;
  }
  found = tree_.find(from, *path, follow);
  if (found.outside) {
    problem = Answer::kernel();
    return false;
  }
  if (found.error != 0) {
    problem = Answer::error(found.error);
    return false;
  }
  // From a folder that was opened in the mirror the kernel finds the mirror's entries, most of which are empty.
  if (!path->starts_with('/') && folder != AT_FDCWD) {
    const std::string real = target_.descriptor(folder);
    found.clean = found.clean && tree_.virtual_of(real) == real;
  }
  return true;
}

bool Calls::find_opened(int descriptor, Found& found) {
  const std::string real = target_.descriptor(descriptor);
  if (!real.starts_with('/')) return false;
  const std::string path = tree_.virtual_of(real);
  if (path != real) return false;  // the layer's own: the kernel changes the right one
  found = tree_.find("/", path, false);
  return found.exists && !found.outside && found.error == 0;
}

// The folder of `found` has a mirror then. kValue: all is well.
Answer Calls::parent_ready(const Found& found) {
  const int problem = tree_.mirror(folder_of(found.path));
  return problem == 0 ? Answer::done() : Answer::error(problem);
}

Answer Calls::open_found(const Found& found, std::uint64_t flags, mode_t mode) {
  const std::string own = tree_.mirror_of(found.path);
  const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  const bool writes = (flags & kWriting) != 0 && (flags & O_PATH) == 0;
  const bool creates = (flags & O_CREAT) != 0 && !found.exists;
  Answer answer;
  if (found.exists && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return Answer::error(EEXIST);
  if (!found.exists && !creates) return Answer::error(ENOENT);
  // A disk is full for those who open a file to write: what is written later, nobody sees.
  if ((is_unnamed || creates || writes) && !tree_.has_room()) return Answer::error(ENOSPC);
  std::string place = found.place;
  if (is_unnamed) {
    if (!found.is_folder()) return Answer::error(ENOTDIR);
    if (const int problem = tree_.mirror(found.path); problem != 0) return Answer::error(problem);
    place = own;
  } else if (creates) {
    if (answer = parent_ready(found); answer.kind == Answer::Kind::kError) return answer;
    place = own;
  } else if (writes && S_ISREG(found.status.st_mode)) {
    // The mirror is the user's: whether he may write is the real file's to say.
    if (place != own && ::access(place.c_str(), W_OK) != 0) return Answer::error(errno == EROFS ? EACCES : errno);
    if (const int problem = tree_.take(found, (flags & O_TRUNC) == 0); problem != 0) return Answer::error(problem);
    place = own;
  } else if (is_special(found) || (found.clean && !shows_mirror(found))) {
    return Answer::kernel();
  } else if (found.is_folder() && found.place != found.path && !shows_mirror(found)) {
    // Renamed as a whole: what is opened there must be found under its new name.
    if (const int problem = tree_.mirror(found.path); problem != 0) return Answer::error(problem);
    place = own;
  }
  flags &= ~static_cast<std::uint64_t>(O_PATH);  // seccomp hands over none of these: one for reading is more
  const mode_t masked = mode & ~target_.umask();
  const auto ours = static_cast<int>((flags & ~static_cast<std::uint64_t>(O_CREAT)) | O_CLOEXEC | O_NONBLOCK |
                                     (creates || is_unnamed ? flags & O_CREAT : 0));
  FileDescriptor file(::open(place.c_str(), ours, masked));
  if (!file) return Answer::error(errno);
  if (creates || is_unnamed) ::fchmod(file.number(), masked);
  if (creates) tree_.made(found.path);
  if ((flags & O_NONBLOCK) == 0) {
    ::fcntl(file.number(), F_SETFL, ::fcntl(file.number(), F_GETFL) & ~O_NONBLOCK);
  }
  return {Answer::Kind::kFile, 0, std::move(file), (flags & O_CLOEXEC) != 0};
}

Answer Calls::open(int folder, std::uint64_t path, std::uint64_t flags, mode_t mode, std::uint64_t resolve) {
  Found found;
  Answer problem;
  const bool changes = (flags & (kWriting | O_CREAT)) != 0 && (flags & O_PATH) == 0;
  if (resolve != 0) return changes ? Answer::error(ENOSYS) : Answer::kernel();
  const bool follow = (flags & O_NOFOLLOW) == 0 && !((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0);
  if (!find(folder, path, follow, found, problem)) return problem;
  if (!changes && found.clean && !shows_mirror(found)) return Answer::kernel();
  if (found.exists && S_ISLNK(found.status.st_mode) && (flags & O_PATH) == 0 && (flags & O_EXCL) == 0) {
    return Answer::error(ELOOP);
  }
  Answer answer = open_found(found, flags, mode);
  return answer;
}

Answer Calls::look(int folder, std::uint64_t path, std::uint64_t into, bool follow) {
  Found found;
  Answer problem;
  if (!find(folder, path, follow, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (found.clean && !tree_.is_mirrored(found)) return Answer::kernel();
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

Answer Calls::truncate() {
  return change(AT_FDCWD, argument(0), true,
                [&](const std::string& place) { return ::truncate(place.c_str(), static_cast<off_t>(argument(1))); });
}

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
  const int ready = is_folder ? tree_.mirror(found.path) : tree_.mirror(folder_of(found.path));
  if (ready != 0) return Answer::error(ready);
  const std::string own = tree_.mirror_of(found.path);
  struct stat status {};
  if (::lstat(own.c_str(), &status) != 0) return Answer::error(errno);
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

template <class Act>
Answer Calls::change(int folder, std::uint64_t path, bool follow, Act act) {
  Found found;
  Answer problem;
  if (!find(folder, path, follow, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (const int taken = tree_.take(found); taken != 0) return Answer::error(taken);
  return Answer::of(act(tree_.mirror_of(found.path)));
}

template <class Act>
Answer Calls::change_opened(int descriptor, Act act) {
  Found found;
  if (!find_opened(descriptor, found)) return Answer::kernel();
  if (const int taken = tree_.take(found); taken != 0) return Answer::error(taken);
  return Answer::of(act(tree_.mirror_of(found.path)));
}

Answer Calls::change_times(int folder, std::uint64_t path, const timespec* times, bool follow) {
  const auto act = [&](const std::string& place) {
    return ::utimensat(AT_FDCWD, place.c_str(), times, AT_SYMLINK_NOFOLLOW);
  };
  return path == 0 ? change_opened(folder, act) : change(folder, path, follow, act);
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

Answer Calls::remove_attribute(bool follow, bool is_opened) {
  const auto name = target_.read_text(argument(1), 256);
  if (!name) return Answer::error(EFAULT);
  const auto act = [&](const std::string& place) { return ::lremovexattr(place.c_str(), name->c_str()); };
  return is_opened ? change_opened(number(0), act) : change(AT_FDCWD, argument(0), follow, act);
}

bool Calls::refuses_network(std::uint64_t address, std::uint64_t size) {
  sockaddr_in6 to{};
  if (address == 0 || size < sizeof(sa_family_t)) return false;
  if (!target_.read(address, &to, std::min<std::size_t>(size, sizeof to))) return false;
  if (to.sin6_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(&to);
    refused_network_ = (ntohl(four->sin_addr.s_addr) >> 24) != 127;
  } else if (to.sin6_family == AF_INET6) {
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&to.sin6_addr) != 0;
    refused_network_ = is_mapped ? to.sin6_addr.s6_addr[12] != 127 : IN6_IS_ADDR_LOOPBACK(&to.sin6_addr) == 0;
  }
  return refused_network_;
}

Answer Calls::send() {
  if (network_) return Answer::kernel();
  bool refused = false;
  if (call_.nr == SYS_connect) {
    refused = refuses_network(argument(1), argument(2));
  } else if (call_.nr == SYS_sendto) {
    refused = refuses_network(argument(4), argument(5));
  } else {
    msghdr message{};
    const bool is_read = target_.read(argument(1), &message, sizeof message);
    refused = is_read && refuses_network(reinterpret_cast<std::uint64_t>(message.msg_name), message.msg_namelen);
  }
  return refused ? Answer::error(ENETUNREACH) : Answer::kernel();
}

Answer Calls::answer() {
  const auto mode = [&](int index) { return static_cast<mode_t>(argument(index)); };
  const int here = AT_FDCWD;
  switch (static_cast<unsigned>(call_.nr)) {
    case SYS_open:
      return open(here, argument(0), argument(1), mode(2), 0);
    case SYS_creat:
      return open(here, argument(0), O_CREAT | O_WRONLY | O_TRUNC, mode(1), 0);
    case SYS_openat:
      return open(number(0), argument(1), argument(2), mode(3), 0);
    case SYS_openat2: {
      OpenHow how{};
      if (!target_.read(argument(2), &how, sizeof how)) return Answer::error(EFAULT);
      return open(number(0), argument(1), how.flags, static_cast<mode_t>(how.mode), how.resolve);
    }
    case SYS_stat:
      return look(here, argument(0), argument(1), true);
    case SYS_lstat:
      return look(here, argument(0), argument(1), false);
    case SYS_newfstatat:
      return look(number(0), argument(1), argument(2), (argument(3) & AT_SYMLINK_NOFOLLOW) == 0);
    case SYS_statx:
      return look_closer();
    case SYS_access:
      return access(here, argument(0), number(1), 0);
    case SYS_faccessat:
      return access(number(0), argument(1), number(2), 0);
    case SYS_faccessat2:
      return access(number(0), argument(1), number(2), number(3));
    case SYS_readlink:
      return read_link(here, argument(0), argument(1), argument(2));
    case SYS_readlinkat:
      return read_link(number(0), argument(1), argument(2), argument(3));
    case SYS_chdir:
      return change_folder();
    case SYS_getcwd:
      return tell_folder();
    case SYS_truncate:
      return truncate();
    case SYS_mkdir:
      return make_folder(here, argument(0), mode(1));
    case SYS_mkdirat:
      return make_folder(number(0), argument(1), mode(2));
    case SYS_mknod:
      return make_node(here, argument(0), mode(1), argument(2));
    case SYS_mknodat:
      return make_node(number(0), argument(1), mode(2), argument(3));
    case SYS_rmdir:
      return remove(here, argument(0), true);
    case SYS_unlink:
      return remove(here, argument(0), false);
    case SYS_unlinkat:
      return remove(number(0), argument(1), (argument(2) & AT_REMOVEDIR) != 0);
    case SYS_rename:
      return rename(here, argument(0), here, argument(1), 0);
    case SYS_renameat:
      return rename(number(0), argument(1), number(2), argument(3), 0);
    case SYS_renameat2:
      return rename(number(0), argument(1), number(2), argument(3), static_cast<unsigned>(argument(4)));
    case SYS_link:
      return link(here, argument(0), here, argument(1), 0);
    case SYS_linkat:
      return link(number(0), argument(1), number(2), argument(3), number(4));
    case SYS_symlink:
      return link_symbolic(argument(0), here, argument(1));
    case SYS_symlinkat:
      return link_symbolic(argument(0), number(1), argument(2));
    case SYS_chmod:
      return change(here, argument(0), true, [&](const std::string& place) { return ::chmod(place.c_str(), mode(1)); });
    case SYS_fchmodat:
    case kFchmodat2:
      return change(number(0), argument(1), true,
                    [&](const std::string& place) { return ::chmod(place.c_str(), mode(2)); });
    case SYS_fchmod:
      return change_opened(number(0), [&](const std::string& place) { return ::chmod(place.c_str(), mode(1)); });
    case SYS_chown:
    case SYS_lchown:
      return change(here, argument(0), call_.nr == SYS_chown,
                    [&](const std::string& place) { return ::lchown(place.c_str(), mode(1), mode(2)); });
    case SYS_fchown:
      return change_opened(number(0),
                           [&](const std::string& place) { return ::lchown(place.c_str(), mode(1), mode(2)); });
    case SYS_fchownat:
      return change(number(0), argument(1), (argument(4) & AT_SYMLINK_NOFOLLOW) == 0,
                    [&](const std::string& place) { return ::lchown(place.c_str(), mode(2), mode(3)); });
    case SYS_utimensat: {
      timespec times[2] = {};
      const bool are_given = argument(2) != 0;
      if (are_given && !target_.read(argument(2), times, sizeof times)) return Answer::error(EFAULT);
      return change_times(number(0), argument(1), are_given ? times : nullptr,
                          (argument(3) & AT_SYMLINK_NOFOLLOW) == 0);
    }
    case SYS_utimes:
    case SYS_futimesat: {
      const int shift = call_.nr == SYS_futimesat ? 1 : 0;
      timeval given[2] = {};
      const bool are_given = argument(shift + 1) != 0;
      if (are_given && !target_.read(argument(shift + 1), given, sizeof given)) return Answer::error(EFAULT);
      const timespec times[2] = {{given[0].tv_sec, given[0].tv_usec * 1000},
                                 {given[1].tv_sec, given[1].tv_usec * 1000}};
      return change_times(shift == 1 ? number(0) : here, argument(shift), are_given ? times : nullptr, true);
    }
    case SYS_utime: {
      utimbuf given{};
      const bool are_given = argument(1) != 0;
      if (are_given && !target_.read(argument(1), &given, sizeof given)) return Answer::error(EFAULT);
      const timespec times[2] = {{given.actime, 0}, {given.modtime, 0}};
      return change_times(here, argument(0), are_given ? times : nullptr, true);
    }
    case SYS_setxattr:
    case SYS_lsetxattr:
    case SYS_fsetxattr:
      return set_attribute(call_.nr == SYS_setxattr, call_.nr == SYS_fsetxattr);
    case SYS_getxattr:
    case SYS_lgetxattr:
      return tell_attributes(call_.nr == SYS_getxattr, false);
    case SYS_listxattr:
    case SYS_llistxattr:
      return tell_attributes(call_.nr == SYS_listxattr, true);
    case SYS_removexattr:
    case SYS_lremovexattr:
    case SYS_fremovexattr:
      return remove_attribute(call_.nr == SYS_removexattr, call_.nr == SYS_fremovexattr);
    case SYS_statfs:
      return tell_room();
    case SYS_bind:
      return bind_socket();
    case SYS_getsockname:
      return tell_socket();
    case SYS_connect:
      return connect_socket();
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
      return send();
    default:
      return Answer::kernel();
  }
}

}  // namespace vramfit::isolate
