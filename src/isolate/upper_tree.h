// What overlayfs left in an upper folder: files, and marks for what was taken away
// (https://docs.kernel.org/filesystems/overlayfs.html).
#ifndef VRAMFIT_ISOLATE_UPPER_TREE_H
#define VRAMFIT_ISOLATE_UPPER_TREE_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace vramfit::isolate {

enum class UpperKind {
  kFolder,    // merged with the one below, unless that is not there
  kReplaced,  // a folder that hides the one below it
  kMoved,     // a folder that shows what lies at another place below
  kFile,      // or a link, FIFO ...
  kDeleted,
};

struct UpperEntry {
  std::filesystem::path path;   // relative to the overlay's top
  std::filesystem::path place;  // where it can be read
  UpperKind kind = UpperKind::kFile;
  std::filesystem::path moved_from;  // of kMoved: relative to the overlay's top
};

// Every entry, folders before what they hold. The top itself is left out.
void walk_upper(const std::filesystem::path& upper, const std::function<void(const UpperEntry&)>& visit);

// Copies what is data and leaves holes holes: a checkpoint of zeros takes no room.
bool copy_sparse(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace vramfit::isolate

#endif
