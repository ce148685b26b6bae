#include "isolate/layer_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <utility>

#include "isolate/mount_calls.h"
#include "isolate/permissions.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::fail_errno;
using base::FileDescriptor;
using base::Result;

namespace {

constexpr std::int64_t kMaxCopied = 64 << 20;  // of one file that lies beside mount points

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return fail_errno("cannot make a folder of the layer", path);
}

// Something to mount a file on.
Result<void> make_file(const std::string& path) {
  if (FileDescriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644))) return {};
  return fail_errno("cannot make a file of the layer", path);
}

std::string join(const std::string& folder, std::string_view name) {
  return folder == "/" ? "/" + std::string(name) : folder + "/" + std::string(name);
}

void copy_times(const struct stat& from, const std::string& to) {
  const timespec times[2] = {from.st_atim, from.st_mtim};
  ::utimensat(AT_FDCWD, to.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

}  // namespace

LayerTree::LayerTree(std::string base, bool owns_all, std::vector<std::string> near)
    : base_(std::move(base)), owns_all_(owns_all), near_(std::move(near)), mounts_(visible_mounts()) {
  for (const char* folder : {"/tmp", "/var/tmp"}) near_.emplace_back(folder);
}

bool LayerTree::has_mounts_below(const std::string& folder) const {
  return std::ranges::any_of(mounts_, [&](const Mount& mount) { return lies_below(mount.point, folder); });
}

bool LayerTree::is_mount_point(const std::string& path) const {
  return std::ranges::any_of(mounts_, [&](const Mount& mount) { return mount.point == path; });
}

// Asks as the user, not with what a new user namespace lets us do.
bool LayerTree::may_write(const std::string& path) const { return ::access(path.c_str(), W_OK) == 0; }

Result<void> LayerTree::build() {
  std::erase_if(mounts_, [&](const Mount& mount) { return mount.point == base_; });
  for (const char* folder : {"/upper", "/scratch", "/tree", "/dev"}) {
    if (auto made = make_folder(base_ + folder); !made) return made;
  }
  if (auto bound = bind_mount(root(), root()); !bound) return bound;  // a root must be a mount point
  std::string done;                                                   // the kernel's own tree that was taken as a whole
  for (const Mount& mount : mounts_) {
    const bool is_below = !done.empty() && lies_below(mount.point, done);
    if (is_below || mount.point == "/dev" || lies_below(mount.point, "/dev")) continue;
    if (is_kernel_interface(mount.type)) done = mount.point;
    if (auto covered = cover(mount); !covered) return covered;
  }
  if (auto devices = build_devices(); !devices) return devices;
  return guard_proc();
}

Result<void> LayerTree::cover(const Mount& mount) {
  const std::string at = mount.point == "/" ? root() : root() + mount.point;
  if (mount.type == "proc") return bind_mount(mount.point, at);
  struct stat status {};
  const bool is_folder = ::stat(mount.point.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
  if (is_kernel_interface(mount.type) || mount.read_only || !is_folder) return show_read_only(mount.point, at, false);
  if (overlay(mount.point, at)) return {};
  // A user namespace may not look under mounts that it did not make: all that is not under one is covered by itself.
  if (has_mounts_below(mount.point)) return split(mount.point, at);
  return show_read_only(mount.point, at, true);
}

// What is not there any more is left out: mounts come and go.
Result<void> LayerTree::show_read_only(const std::string& path, const std::string& at, bool tell) {
  if (!bind_mount(path, at)) {
    if (tell || path == "/") return fail_errno("cannot show a file system inside the layer", path);
    return {};
  }
  if (tell && may_write(path)) read_only_.push_back(path);
  return make_read_only(at);
}

// The top folder of an overlay has the rights of its upper one.
Result<void> LayerTree::make_upper(const std::string& lower, const std::string& upper) {
  if (auto made = make_folder(upper); !made) return made;
  struct stat status {};
  if (::stat(lower.c_str(), &status) != 0) return fail_errno("cannot look at a folder", lower);
  if (owns_all_ && ::chown(upper.c_str(), status.st_uid, status.st_gid) != 0) {
    return fail_errno("cannot give a folder of the layer to its owner", lower);
  }
  // It belongs to the user now. Where he could not write, he still can't.
  const mode_t mode = status.st_mode & kPermissions;
  ::chmod(upper.c_str(), owns_all_ || may_write(lower) ? mode : mode & ~kWriteBits);
  copy_times(status, upper);
  return {};
}

Result<void> LayerTree::overlay(const std::string& lower, const std::string& at) {
  const std::string number = std::to_string(lowers_.size());
  lowers_.emplace_back();  // a number is used once: overlayfs marks what it has tried
  const std::string upper = base_ + "/upper/" + number, work = base_ + "/scratch/" + number;
  if (auto made = make_upper(lower, upper); !made) return made;
  if (auto made = make_folder(work); !made) return made;
  if (!owns_all_) open_foreign_folders(lower, upper);
  // Uses descriptors: a path may hold the commas and colons of which the options are made.
  const FileDescriptor below(::open(lower.c_str(), O_PATH | O_CLOEXEC)),
      above(::open(upper.c_str(), O_PATH | O_CLOEXEC)), own(::open(work.c_str(), O_PATH | O_CLOEXEC));
  // Nothing survives a crash here, and nothing has to: volatile leaves out what would make sure of it.
  const std::string options = fmt::format(
      "lowerdir=/proc/self/fd/{},upperdir=/proc/self/fd/{},workdir=/proc/self/fd/{},volatile,index=on,xino=on,{}",
      below.number(), above.number(), own.number(), owns_all_ ? "redirect_dir=on,metacopy=off" : "userxattr");
  if (::mount("vramfit", at.c_str(), "overlay", 0, options.c_str()) != 0) {
    return fail_errno("cannot lay an overlay over a folder", lower);
  }
  lowers_.back() = lower;
  return {};
}

// A user namespace of one user can't make copies of folders that belong to others, which is what overlayfs does before
// it lets the job write below one. Those that matter are there before: they look like the user's own then.
void LayerTree::open_foreign_folders(const std::string& lower, const std::string& upper) {
  constexpr int kMaxDepth = 4;
  constexpr std::size_t kMaxSeen = 2000;
  const auto open_chain = [&](const std::string& folder) {
    if (!lies_below(folder, lower)) return;
    std::string below = lower, above = upper;
    for (const fs::path& name : fs::path(folder).lexically_relative(lower)) {
      below = join(below, name.string());
      above = join(above, name.string());
      struct stat status {};
      if (::lstat(below.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
      if (!make_upper(below, above)) return;
    }
  };
  for (const std::string& folder : near_) open_chain(folder);
  std::deque<std::pair<std::string, int>> queue{{lower, 0}};
  for (std::size_t seen = 0; !queue.empty() && seen < kMaxSeen; queue.pop_front()) {
    const auto [folder, depth] = queue.front();
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator(folder, problem)) {
      struct stat status {};
      if (++seen > kMaxSeen) break;
      if (::lstat(entry.path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
      const bool is_own = status.st_uid == ::getuid();
      if (is_own && status.st_gid == ::getgid()) {
        if (depth > 0) open_chain(folder);
      } else {
        if (is_own || may_write(entry.path().string())) open_chain(entry.path().string());
        if (depth < kMaxDepth) queue.emplace_back(entry.path().string(), depth + 1);
      }
    }
  }
}

Result<void> LayerTree::split(const std::string& folder, const std::string& at) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return fail_errno("cannot look at a folder", folder);
  std::string place = at;
  if (at != root()) {
    place = fmt::format("{}/scratch/split.{}", base_, lowers_.size());
    if (auto made = make_folder(place); !made) return made;
  }
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) {
    const std::string path = entry.path().string();
    if (auto shown = split_entry(path, join(place, entry.path().filename().string())); !shown) return shown;
  }
  const mode_t mode = status.st_mode & kPermissions;
  ::chmod(place.c_str(), may_write(folder) ? mode : mode & ~kWriteBits);
  return place == at ? Result<void>() : bind_mount(place, at);
}

Result<void> LayerTree::split_entry(const std::string& path, const std::string& at) {
  std::error_code problem;
  const fs::file_status status = fs::symlink_status(path, problem);
  if (problem) return {};
  if (fs::is_symlink(status)) {
    fs::copy_symlink(path, at, problem);
    return {};
  }
  if (fs::is_directory(status)) {
    if (auto made = make_folder(at); !made) return made;
    if (is_mount_point(path)) return {};
    if (has_mounts_below(path)) return split(path, at);
    return overlay(path, at) ? Result<void>() : show_read_only(path, at, true);
  }
  const bool is_small = fs::is_regular_file(status) && may_write(path) &&
                        static_cast<std::int64_t>(fs::file_size(path, problem)) <= kMaxCopied;
  if (is_small && fs::copy_file(path, at, problem)) return {};
  if (auto made = make_file(at); !made) return made;
  return is_mount_point(path) ? Result<void>() : show_read_only(path, at, false);
}

// A /dev of its own, as containers have: what a program needs, and no disks.
Result<void> LayerTree::build_devices() {
  const std::string devices = base_ + "/dev";
  for (const char* name : {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}) {
    const std::string from = std::string("/dev/") + name, at = devices + "/" + name;
    std::error_code problem;
    if (fs::is_symlink(from, problem)) {
      fs::copy_symlink(from, at, problem);
    } else if (fs::exists(from, problem)) {
      if (auto made = make_file(at); !made) return made;
      if (auto bound = bind_mount(from, at); !bound) return bound;
    }
  }
  constexpr std::array<std::pair<const char*, const char*>, 4> kLinks = {{{"fd", "/proc/self/fd"},
                                                                          {"stdin", "/proc/self/fd/0"},
                                                                          {"stdout", "/proc/self/fd/1"},
                                                                          {"stderr", "/proc/self/fd/2"}}};
  for (const auto& [name, target] : kLinks) ::symlink(target, (devices + "/" + name).c_str());
  for (const char* name : {"pts", "mqueue"}) {
    const std::string from = std::string("/dev/") + name;
    if (!is_mount_point(from)) continue;
    if (auto made = make_folder(devices + "/" + name); !made) return made;
    if (auto bound = bind_mount(from, devices + "/" + name); !bound) return bound;
  }
  const std::string at = root() + "/dev";
  if (auto bound = bind_mount(devices, at); !bound) return bound;
  if (::access("/dev/shm", F_OK) != 0) return {};
  if (auto made = make_folder(at + "/shm"); !made) return made;
  return overlay("/dev/shm", at + "/shm");
}

// Lets only what belongs to processes be written to in /proc.
Result<void> LayerTree::guard_proc() {
  if (!owns_all_) return {};  // the kernel's settings are root's
  for (const char* path : {"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"}) {
    if (::access(path, F_OK) != 0) continue;
    if (auto bound = bind_mount(path, root() + path); !bound) return bound;
    if (auto guarded = make_read_only(root() + path); !guarded) return guarded;
  }
  return {};
}

}  // namespace vramfit::isolate
