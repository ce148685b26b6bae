// The layer's tree of mounts, put together beside the real one and not yet entered.
//
//   BASE             a file system in memory
//   BASE/upper/N     what the job wrote to overlay N
//   BASE/scratch/N    overlayfs's own
//   BASE/tree        the tree: overlays where files can be written, read-only mounts elsewhere
#ifndef VRAMFIT_ISOLATE_LAYER_TREE_H
#define VRAMFIT_ISOLATE_LAYER_TREE_H

#include <string>
#include <vector>

#include "base/error.h"
#include "isolate/mount_table.h"

namespace vramfit::isolate {

class LayerTree {
 public:
  // `owns_all`: this process may give files to any user. In a user namespace of one user it may not.
  LayerTree(std::string base, bool owns_all, std::vector<std::string> near);

  base::Result<void> build();

  std::string root() const { return base_ + "/tree"; }
  const std::vector<std::string>& lowers() const {
    return lowers_;
  }  // of overlay N: the folder it covers; empty: not used
  const std::vector<std::string>& read_only() const { return read_only_; }  // what could not be covered

 private:
  base::Result<void> cover(const Mount& mount);
  base::Result<void> show_read_only(const std::string& path, const std::string& at, bool tell);
  base::Result<void> overlay(const std::string& lower, const std::string& at);
  base::Result<void> make_upper(const std::string& lower, const std::string& upper);
  void open_foreign_folders(const std::string& lower, const std::string& upper);
  base::Result<void> split(const std::string& folder, const std::string& at);
  base::Result<void> split_entry(const std::string& path, const std::string& at);
  base::Result<void> build_devices();
  base::Result<void> guard_proc();
  bool has_mounts_below(const std::string& folder) const;
  bool is_mount_point(const std::string& path) const;
  bool may_write(const std::string& path) const;

  std::string base_;
  bool owns_all_;
  std::vector<std::string> near_;
  std::vector<Mount> mounts_;
  std::vector<std::string> lowers_, read_only_;
};

}  // namespace vramfit::isolate

#endif
