#include "isolate/supervised/union_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <filesystem>
#include <ostream>
#include <utility>

#include "base/file.h"
#include "isolate/mount_table.h"
#include "isolate/permissions.h"
#include "isolate/shared_memory.h"
#include "isolate/upper_tree.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;

namespace {

const std::string kDevices = "/dev", kSharedMemory = SharedMemoryFolder::kPlace;
constexpr std::int64_t kBlock = 512;  // of st_blocks
constexpr int kMaxLinks = 40;         // as path_resolution(7)

std::string join(const std::string& folder, const std::string& name) {
  return folder == "/" ? "/" + name : folder + "/" + name;
}

void push_words(std::deque<std::string>& words, std::string_view text) {
  std::deque<std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    if (end > 0) found.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  words.insert(words.begin(), found.begin(), found.end());
}

std::string read_link(const std::string& path) {
  std::error_code problem;
  return fs::read_symlink(path, problem).string();
}

void copy_looks(const struct stat& from, const std::string& to, mode_t mode) {
  [[maybe_unused]] const int owned = ::lchown(to.c_str(), from.st_uid, from.st_gid);
  if (!S_ISLNK(from.st_mode)) ::chmod(to.c_str(), mode & kPermissions);
  const timespec times[2] = {from.st_atim, from.st_mtim};
  ::utimensat(AT_FDCWD, to.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

}  // namespace

// What a job finds at /dev/shm is a folder of ours.
bool UnionTree::enters_shared_memory(std::deque<std::string>& rest) const {
  while (!rest.empty() && rest.front() == ".") rest.pop_front();
  return !memory_.empty() && !rest.empty() && rest.front() == "shm";
}

// A folder on the way, and where its entries are looked up.
struct UnionTree::Place {
  std::string path, place;
  bool is_mirrored = false, is_clean = true;
};

UnionTree::UnionTree(UnionPlaces places)
    : mirror_(std::move(places.mirror)), memory_(std::move(places.shared_memory)), shared_(std::move(places.shared)) {
  const std::int64_t free = free_bytes(), limit_bytes = places.limit_bytes;
  least_free_ = free - (limit_bytes > 0 ? std::min(limit_bytes, free) : free / 2);
  struct stat status {};
  if (::stat(mirror_.c_str(), &status) == 0) root_ = id_of(status);
}

std::int64_t UnionTree::free_bytes() const {
  struct statvfs room {};
  return ::statvfs(mirror_.c_str(), &room) == 0 ? static_cast<std::int64_t>(room.f_bavail * room.f_frsize) : 0;
}

bool UnionTree::has_room() {
  const bool has_some = free_bytes() >= least_free_;
  was_full_ = was_full_ || !has_some;
  return has_some;
}

bool UnionTree::is_in_shared_memory(const std::string& path) const {
  return !memory_.empty() && (path == kSharedMemory || lies_below(path, kSharedMemory));
}

bool UnionTree::is_shared(const std::string& path) const {
  const bool is_memory = is_in_shared_memory(path);
  return std::ranges::any_of(shared_, [&](const std::string& one) {
    return (path == one || lies_below(path, one)) && !(is_memory && lies_below(kSharedMemory, one));
  });
}

std::string UnionTree::mirror_of(const std::string& path) const {
  if (is_in_shared_memory(path)) return memory_ + path.substr(kSharedMemory.size());
  return path == "/" ? mirror_ : mirror_ + path;
}

std::string UnionTree::virtual_of(const std::string& real) const {
  if (!memory_.empty() && (real == memory_ || lies_below(real, memory_))) {
    return kSharedMemory + real.substr(memory_.size());
  }
  if (real == mirror_) return "/";
  return lies_below(real, mirror_) ? real.substr(mirror_.size()) : real;
}

bool UnionTree::was_removed(const std::string& real, const std::string& own) const {
  const fs::path path = real;
  const auto listed = listed_.find(path.parent_path().string());
  struct stat mirrored {};
  return listed != listed_.end() && listed->second.contains(path.filename().string()) &&
         ::lstat(own.c_str(), &mirrored) != 0;
}

void UnionTree::count_in(const std::string& place, const std::string& path, const std::string& origin,
                         LayerContents& contents) const {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(place, problem)) {
    struct stat own {
    }, real{};
    const std::string name = entry.path().filename().string();
    if (::lstat(entry.path().c_str(), &own) != 0) continue;
    const auto state = states_.find(id_of(own));
    if (S_ISDIR(own.st_mode)) {
      if (state != states_.end() && state->second.is_mirrored)
        count_in(entry.path().string(), join(path, name), state->second.origin, contents);
    } else if (state == states_.end() && entry.path().extension() != ".pyc") {
      const bool is_known = !origin.empty() && ::lstat(join(origin, name).c_str(), &real) == 0;
      contents.add({join(path, name), is_known ? LayerChange::kChanged : LayerChange::kCreated,
                    S_ISREG(own.st_mode) ? own.st_size : 0});
      contents.held += static_cast<std::int64_t>(own.st_blocks) * kBlock;
    }
  }
  if (origin.empty()) return;
  for (const auto& entry : fs::directory_iterator(origin, problem)) {
    const std::string real = entry.path().string();
    if (was_removed(real, join(place, entry.path().filename().string()))) {
      contents.add({real, LayerChange::kRemoved, 0});
    }
  }
}

LayerContents UnionTree::count() const {
  LayerContents contents;
  if (!is_untouched()) count_in(mirror_, "/", "/", contents);
  contents.is_full = was_full_;
  return contents;
}

UnionTree::Place UnionTree::top() const {
  const bool is_mirrored = !is_untouched();
  return {"/", is_mirrored ? mirror_ : "/", is_mirrored, true};
}

// The entry `name` of the folder `at`. False where there is none.
bool UnionTree::step(Place& at, const std::string& name, Found& found) const {
  found.path = join(at.path, name);
  found.place = join(at.place, name);
  found.clean = at.is_clean;
  found.exists = ::lstat(found.place.c_str(), &found.status) == 0;
  if (!at.is_mirrored) return found.exists;
  if (!found.exists) return found.clean = false;
  const auto known = states_.find(id_of(found.status));
  if (known == states_.end()) {
    found.clean = false;
    return true;
  }
  const State& state = known->second;
  found.clean = found.clean && state.origin == found.path;
  if (state.is_mirrored || state.is_link) return true;
  found.place = state.origin;
  return ::lstat(found.place.c_str(), &found.status) == 0;
}

Found UnionTree::find(const std::string& from, std::string_view words, bool follow_last) const {
  Found found;
  if (words.empty()) {
    found.error = ENOENT;
    return found;
  }
  std::deque<std::string> rest;
  push_words(rest, words);
  if (!words.starts_with('/')) push_words(rest, from);
  const bool wants_folder = words.ends_with('/');
  std::vector<Place> way{top()};
  bool is_by_link = false;  // the last of the words is a link that was followed
  const auto here = [&] {
    found = {0, true, false, way.back().is_clean, way.back().path, way.back().place, {}, {}};
    if (::lstat(found.place.c_str(), &found.status) != 0) found.error = errno;
  };
  here();
  for (int links = 0; !rest.empty();) {
    const std::string name = std::move(rest.front());
    rest.pop_front();
    if (name == ".") continue;
    if (name == "..") {
      if (way.size() > 1) way.pop_back();
      here();
      continue;
    }
    if (name.size() > 255) return found.error = ENAMETOOLONG, found;
    found = {};
    const bool exists = step(way.back(), name, found);
    if (way.back().is_clean && !way.back().is_mirrored && !is_by_link) found.folder = way.back().path;
    if (found.path == kDevices && enters_shared_memory(rest)) {
      rest.pop_front();
      way.push_back({kDevices, kDevices, false, false});
      way.push_back({kSharedMemory, memory_, true, false});
      here();
      continue;
    }
    if (is_shared(found.path)) {
      found.outside = true;
      for (const std::string& word : rest) found.path = join(found.path, word);
      found.place = found.path;
      return found;
    }
    if (!exists) {
      found.exists = false;
      if (!rest.empty()) found.error = ENOENT;
      return found;
    }
    if (S_ISLNK(found.status.st_mode) && (!rest.empty() || follow_last || wants_folder)) {
      if (++links > kMaxLinks) return found.error = ELOOP, found;
      const std::string text = read_link(found.place);
      is_by_link = is_by_link || rest.empty();
      if (!found.clean) way.back().is_clean = false;
      if (text.starts_with('/')) {
        const bool is_clean = found.clean;
        way = {top()};
        way.back().is_clean = is_clean;
      }
      push_words(rest, text);
      if (rest.empty()) here();
      continue;
    }
    if (S_ISDIR(found.status.st_mode)) {
      const bool is_mirrored = found.place == mirror_of(found.path);
      way.push_back({found.path, found.place, is_mirrored, found.clean});
    } else if (!rest.empty() || wants_folder) {
      return found.error = ENOTDIR, found;
    }
  }
  return found;
}

void UnionTree::keep_in(const std::string& place, const std::string& path, const std::string& origin,
                        const fs::path& to, std::ostream& deleted, KeptFiles& kept) const {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(place, problem)) {
    struct stat own {};
    if (::lstat(entry.path().c_str(), &own) != 0) continue;
    const auto state = states_.find(id_of(own));
    const std::string name = entry.path().filename().string(), below = join(path, name);
    if (state == states_.end()) {
      kept.add(entry.path(), to / name, below);
    } else if (state->second.origin.empty() || (S_ISDIR(own.st_mode) && state->second.is_mirrored)) {
      if (state->second.origin.empty()) kept.add_folder(entry.path(), to / name);
      keep_in(entry.path().string(), below, state->second.origin, to / name, deleted, kept);
    } else if (state->second.origin != below) {  // renamed as it was
      S_ISDIR(own.st_mode) ? kept.add_tree(state->second.origin, to / name, below)
                           : kept.add(state->second.origin, to / name, below);
    }
  }
  if (origin.empty()) return;
  for (const auto& entry : fs::directory_iterator(origin, problem)) {
    const std::string own = join(place, entry.path().filename().string());
    if (was_removed(entry.path().string(), own)) deleted << entry.path().string() << '\n';
  }
}

std::vector<std::string> UnionTree::keep(const fs::path& folder, std::ostream& deleted) const {
  KeptFiles kept;
  if (!is_untouched()) keep_in(mirror_, "/", "/", folder, deleted, kept);
  return kept.finish();
}

// Another name of a file that is in the mirror already is one there too.
bool UnionTree::link_as_real(const struct stat& real, const std::string& to) {
  if (real.st_nlink < 2 || !S_ISREG(real.st_mode)) return false;
  const auto known = linked_.find({real.st_dev, real.st_ino});
  struct stat own {};
  if (known != linked_.end()) {
    const auto& [path, inode] = known->second;
    return ::lstat(path.c_str(), &own) == 0 && own.st_ino == inode && ::link(path.c_str(), to.c_str()) == 0;
  }
  if (!base::FileDescriptor(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600))) return false;
  if (::lstat(to.c_str(), &own) == 0) linked_[{real.st_dev, real.st_ino}] = {to, own.st_ino};
  return false;
}

// Every entry of the real folder, empty, under the mirror.
int UnionTree::fill(const std::string& place, const std::string& origin) {
  struct stat status {};
  if (::stat(origin.c_str(), &status) != 0) return errno;
  ::chmod(place.c_str(), 0700);
  std::error_code problem;
  auto& listed = listed_[origin];
  for (const auto& entry : fs::directory_iterator(origin, problem)) {
    const std::string from = entry.path().string(), to = join(place, entry.path().filename().string());
    struct stat found {};
    if (::lstat(from.c_str(), &found) != 0) continue;
    listed.insert(entry.path().filename().string());
    const bool is_link = S_ISLNK(found.st_mode);
    if (is_link) {
      if (::symlink(read_link(from).c_str(), to.c_str()) != 0) return errno;
      copy_looks(found, to, 0);
    } else if (S_ISDIR(found.st_mode)) {
      if (::mkdir(to.c_str(), 0700) != 0) return errno;
    } else if (link_as_real(found, to)) {
      continue;
    } else if (!base::FileDescriptor(::open(to.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600))) {
      return errno;
    }
    struct stat own {};
    if (::lstat(to.c_str(), &own) != 0) return errno;
    states_[id_of(own)] = {from, false, is_link};
  }
  if (problem) return problem.value();
  // Where the user could not write, he still can't, though the mirror is his.
  const mode_t mode = status.st_mode;
  copy_looks(status, place, ::access(origin.c_str(), W_OK) == 0 ? mode : mode & ~kWriteBits);
  return 0;
}

int UnionTree::mirror(const std::string& folder) {
  if (is_in_shared_memory(folder)) return 0;  // all of it is the job's own
  if (is_untouched()) {
    if (const int problem = fill(mirror_, "/"); problem != 0) return problem;
    states_[root_] = {"/", true, false};
  }
  std::string path = "/";
  for (const fs::path& name : fs::path(folder).relative_path()) {
    if (name.empty()) continue;
    path = join(path, name.string());
    const std::string place = mirror_of(path);
    struct stat status {};
    if (::lstat(place.c_str(), &status) != 0) return errno;
    if (!S_ISDIR(status.st_mode)) return ENOTDIR;
    const auto state = states_.find(id_of(status));
    if (state == states_.end() || state->second.is_mirrored) continue;
    const std::string origin = state->second.origin;
    plain_folders_.drop(path);
    if (const int problem = fill(place, origin); problem != 0) return problem;
    states_[id_of(status)].is_mirrored = true;
  }
  return 0;
}

int UnionTree::take(const Found& found, bool with_data) {
  if (found.is_folder()) return mirror(found.path);
  if (const int problem = mirror(fs::path(found.path).parent_path().string()); problem != 0) return problem;
  const std::string own = mirror_of(found.path);
  struct stat status {};
  if (::lstat(own.c_str(), &status) != 0) return errno;
  const auto state = states_.find(id_of(status));
  if (state == states_.end()) return 0;
  const std::string origin = state->second.origin;
  const bool is_link = state->second.is_link;
  states_.erase(state);
  if (is_link) return 0;
  struct stat real {};
  if (::lstat(origin.c_str(), &real) != 0) return errno;
  if (S_ISREG(real.st_mode) && with_data && !copy_sparse(origin, own)) return errno != 0 ? errno : EIO;
  copy_looks(real, own, real.st_mode);
  return 0;
}

void UnionTree::disturb(const std::string& path) {
  struct stat status {};
  if (::lstat(mirror_of(path).c_str(), &status) != 0) return;
  const auto state = states_.find(id_of(status));
  const bool is_own_folder = state != states_.end() && state->second.origin.empty();
  if (S_ISLNK(status.st_mode) || (S_ISDIR(status.st_mode) && !is_own_folder)) plain_folders_.clear();
}

void UnionTree::made(const std::string& path) {
  struct stat status {};
  if (::lstat(mirror_of(path).c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    states_[id_of(status)] = {"", true, false};
  } else {
    states_.erase(id_of(status));
  }
}

}  // namespace vramfit::isolate
