// A layer over the machine's files without any help of mounts: a mirror of those folders in which something was
// changed.
//
// A folder is mirrored when something in it is first changed: each of its entries is then there under the mirror, empty
// and with the right kind, and stands for the real one (its origin) until it is changed itself. So listings, renames,
// deletions and links are the file system's own, done in the mirror; only contents are looked up at their origin.
//
//   MIRROR/home/me/train.py    empty, origin /home/me/train.py     read there
//   MIRROR/home/me/out.pt      no origin                           the job's own
//   MIRROR/home/me/data/       empty, origin /home/me/data         not mirrored yet
//
// One thread only. Paths are absolute; "virtual" ones are as the job sees them.
#ifndef VRAMFIT_ISOLATE_SUPERVISED_UNION_TREE_H
#define VRAMFIT_ISOLATE_SUPERVISED_UNION_TREE_H

#include <sys/stat.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "isolate/kept_files.h"
#include "isolate/supervised/plain_folders.h"
#include "isolate/watch.h"

namespace vramfit::isolate {

struct Found {
  int error = 0;  // ENOENT and the like: of the folder it would be in, where `exists` is false and error 0
  bool exists = false;
  bool outside = false;  // below a shared folder: the kernel's own business
  bool clean = false;    // the kernel finds the same thing under the same words
  std::string path;      // virtual, without links and dots (the last one may be a link that was not to be followed)
  std::string place;     // where its content is
  std::string folder;  // what it was looked up in, if plain (vramfit/plain_folders.h) and by no link's words; or empty
  struct stat status {};
  bool is_folder() const { return exists && S_ISDIR(status.st_mode); }
};

// Where the layer keeps what changes, and what it leaves alone.
struct UnionPlaces {
  std::string mirror;               // an empty folder of ours
  std::vector<std::string> shared;  // never layered; the mirror's own folder should be below one of them
  std::string shared_memory;        // an empty folder of ours that the job takes for /dev/shm; empty: the real one
  std::int64_t limit_bytes = 0;     // what the mirror may take of its disk; 0: half of what is free
};

class UnionTree {
 public:
  explicit UnionTree(UnionPlaces places);

  // `words`, seen from the virtual folder `from`.
  Found find(const std::string& from, std::string_view words, bool follow_last) const;

  // Makes the virtual folder's own mirror. 0 or an errno.
  int mirror(const std::string& folder);
  // The entry itself is the layer's own from here on, with its content (`with_data`) or empty. 0 or an errno.
  int take(const Found& found, bool with_data = true);
  // A folder or file at this place in the mirror was made by the job, or is going to be removed from it.
  void made(const std::string& path);
  void forget(const struct stat& status) { states_.erase(id_of(status)); }
  // The same place is going to be moved, replaced or removed, or its rights changed: ways may have led through it.
  void disturb(const std::string& path);
  PlainFolders& plain_folders() { return plain_folders_; }

  std::string mirror_of(const std::string& path) const;
  // The virtual path of what the kernel calls `real`: /proc/PID/cwd or a descriptor.
  std::string virtual_of(const std::string& real) const;
  bool is_mirrored(const Found& folder) const { return folder.place == mirror_of(folder.path); }
  bool is_untouched() const { return !states_.contains(root_); }

  // False when the disk has lost as much as the mirror may take since the job began: asked before more is written.
  bool has_room();
  // What the job did, but for the network.
  LayerContents count() const;
  // Copies what the job wrote; paths that are gone are listed. What was not kept (KeptFiles).
  std::vector<std::string> keep(const std::filesystem::path& folder, std::ostream& deleted) const;

 private:
  struct State {
    std::string origin;        // empty: none
    bool is_mirrored = false;  // of a folder
    bool is_link = false;      // a copy of a link
  };
  // Two file systems hold the layer: an inode's number alone says nothing.
  using FileId = std::pair<dev_t, ino_t>;
  static FileId id_of(const struct stat& status) { return {status.st_dev, status.st_ino}; }
  struct HashId {
    std::size_t operator()(const FileId& id) const { return id.second * 1099511628211ull + id.first; }
  };
  struct Place;
  Place top() const;
  bool enters_shared_memory(std::deque<std::string>& rest) const;
  bool is_in_shared_memory(const std::string& path) const;
  bool step(Place& at, const std::string& name, Found& found) const;
  void keep_in(const std::string& place, const std::string& path, const std::string& origin,
               const std::filesystem::path& to, std::ostream& deleted, KeptFiles& kept) const;
  bool was_removed(const std::string& real, const std::string& own) const;
  void count_in(const std::string& place, const std::string& path, const std::string& origin,
                LayerContents& contents) const;
  std::int64_t free_bytes() const;
  bool link_as_real(const struct stat& real, const std::string& to);
  int fill(const std::string& place, const std::string& origin);
  bool is_shared(const std::string& path) const;

  std::string mirror_, memory_;
  std::vector<std::string> shared_;
  PlainFolders plain_folders_;
  FileId root_;
  std::int64_t least_free_ = 0;  // bytes of the disk that stay free
  bool was_full_ = false;
  // The entries of each real folder when its mirror was made. What appears later is not there for the job.
  std::unordered_map<std::string, std::unordered_set<std::string>> listed_;
  std::map<std::pair<dev_t, ino_t>, std::pair<std::string, ino_t>> linked_;  // real files of several names, mirrored
  std::unordered_map<FileId, State, HashId> states_;                         // of entries of the mirror
};

}  // namespace vramfit::isolate

#endif
