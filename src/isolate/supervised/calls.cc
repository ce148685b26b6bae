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

constexpr std::uint64_t kOpensForWriting = O_WRONLY | O_RDWR | O_TRUNC;

struct OpenHow {
  std::uint64_t flags, mode, resolve;
};

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

// Renamed as a whole, and not mirrored yet. What is opened there must be found under its new name, and who compares the
// folder with what was told of it before it was opened (os.fwalk, rm -r) must find the same one: it is mirrored first.
bool Calls::is_moved_folder(const Found& found) const {
  return found.is_folder() && found.place != found.path && !shows_mirror(found);
}

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
  const bool is_relative = !path->starts_with('/');
  if (!found.folder.empty() && (!is_relative || folder == AT_FDCWD)) {
    note_plain_folder(is_relative ? from + '/' + *path : *path, found.folder);
  }
  // From a folder that was opened in the mirror the kernel finds the mirror's entries, most of which are empty.
  if (!path->starts_with('/') && folder != AT_FDCWD) {
    const std::string real = target_.descriptor(folder);
    found.clean = found.clean && tree_.virtual_of(real) == real;
  }
  return true;
}

// Entries of the folder may be read without asking, by the words that led there.
void Calls::note_plain_folder(const std::string& words, const std::string& folder) {
  const std::size_t slash = words.rfind('/');
  const std::string_view name = std::string_view(words).substr(slash + 1);
  if (slash == 0 || name.empty() || name == "." || name == "..") return;
  tree_.plain_folders().add(std::string_view(words).substr(0, slash), folder);
}

// The folder of `found` has a mirror then. kValue: all is well.
Answer Calls::parent_ready(const Found& found) {
  const int problem = tree_.mirror(fs::path(found.path).parent_path().string());
  return problem == 0 ? Answer::done() : Answer::error(problem);
}

Answer Calls::open_found(const Found& found, std::uint64_t flags, mode_t mode) {
  const std::string own = tree_.mirror_of(found.path);
  const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
  const bool writes = (flags & kOpensForWriting) != 0 && (flags & O_PATH) == 0;
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
  } else if (is_moved_folder(found)) {
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
  const bool changes = (flags & (kOpensForWriting | O_CREAT)) != 0 && (flags & O_PATH) == 0;
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

Answer Calls::hand_out_plain_folders() {
  FileDescriptor table = tree_.plain_folders().open_read_only();
  if (!table) return Answer::error(ENOSYS);
  return {Answer::Kind::kFile, 0, std::move(table), true};
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
      if (argument(1) == 0 && argument(5) == VF_PLAIN_ASK) return hand_out_plain_folders();
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
