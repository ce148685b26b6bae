// Which folders a job may read without asking: include/vramfit/plain_folders.h, from the side that writes it.
#ifndef VRAMFIT_ISOLATE_SUPERVISED_PLAIN_FOLDERS_H
#define VRAMFIT_ISOLATE_SUPERVISED_PLAIN_FOLDERS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/file.h"
#include "vramfit/plain_folders.h"

namespace vramfit::isolate {

// Must have lost a folder before the call that changes something in it is answered. Where the kernel gives no memory to
// share, nothing is ever in it, and every read is asked for.
class PlainFolders {
 public:
  PlainFolders();
  ~PlainFolders();
  PlainFolders(const PlainFolders&) = delete;
  PlainFolders& operator=(const PlainFolders&) = delete;

  // `words`: how the job names it. `path`: what it is, without links.
  void add(std::string_view words, const std::string& path);
  // Something is going to be changed in the folder.
  void drop(const std::string& path);
  // A folder or a link on the way to others is going to be changed.
  void clear();
  bool contains(std::string_view words) const;

  // For the job: it can't write to it. Invalid where there is none.
  base::FileDescriptor open_read_only() const;

 private:
  base::FileDescriptor memory_;
  vf_plain_folders* table_ = nullptr;
  std::unordered_map<std::string, std::unordered_set<std::uint64_t>> hashes_;  // by path
};

}  // namespace vramfit::isolate

#endif
