#include "isolate/kept_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ranges>
#include <system_error>

#include "isolate/permissions.h"
#include "isolate/upper_tree.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;

namespace {

// A change of owner takes set-uid bits away: the mode comes after it.
void give_looks(const fs::path& to, const struct stat& status) {
  [[maybe_unused]] const int owned = ::lchown(to.c_str(), status.st_uid, status.st_gid);
  if (!S_ISLNK(status.st_mode)) ::chmod(to.c_str(), status.st_mode & kPermissions);
  const timespec times[2] = {status.st_atim, status.st_mtim};
  ::utimensat(AT_FDCWD, to.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

}  // namespace

bool KeptFiles::add_file(const fs::path& from, const fs::path& to, const struct stat& status) {
  const auto known = copied_.find({status.st_dev, status.st_ino});
  if (known != copied_.end() && ::link(known->second.c_str(), to.c_str()) == 0) return true;
  if (!copy_sparse(from, to)) return false;
  if (status.st_nlink > 1) copied_[{status.st_dev, status.st_ino}] = to;
  return true;
}

void KeptFiles::add(const fs::path& from, const fs::path& to, const std::string& seen) {
  struct stat status {};
  std::error_code problem;
  errno = 0;
  fs::create_directories(to.parent_path(), problem);
  bool is_kept = ::lstat(from.c_str(), &status) == 0;
  if (S_ISSOCK(status.st_mode) || S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    left_out_.push_back(seen + (S_ISSOCK(status.st_mode) ? ": a socket" : ": a device"));
    return;
  }
  if (is_kept && S_ISLNK(status.st_mode)) {
    fs::copy_symlink(from, to, problem);
    is_kept = !problem;
  } else if (is_kept && S_ISFIFO(status.st_mode)) {
    is_kept = ::mkfifo(to.c_str(), 0600) == 0;
  } else if (is_kept) {
    is_kept = add_file(from, to, status);
  }
  if (is_kept) {
    give_looks(to, status);
  } else {
    left_out_.push_back(seen + ": " + (problem ? problem.message() : std::strerror(errno)));
  }
}

void KeptFiles::add_folder(const fs::path& from, const fs::path& to) {
  struct stat status {};
  std::error_code problem;
  fs::create_directories(to, problem);
  if (!problem && ::lstat(from.c_str(), &status) == 0) folders_.emplace_back(to, status);
}

void KeptFiles::add_tree(const fs::path& from, const fs::path& to, const std::string& seen) {
  add_folder(from, to);
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(from, problem)) {
    const fs::path name = entry.path().filename();
    const std::string below = seen + "/" + name.string();
    std::error_code ignored;
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
      add_tree(entry.path(), to / name, below);
    } else {
      add(entry.path(), to / name, below);
    }
  }
}

std::vector<std::string> KeptFiles::finish() {
  for (const auto& [folder, status] : folders_ | std::views::reverse) give_looks(folder, status);
  folders_.clear();
  return std::move(left_out_);
}

}  // namespace vramfit::isolate
