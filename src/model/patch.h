// A plan as changes of the user's own source (python/vramfit/patch makes them where the job runs).
#ifndef VRAMFIT_MODEL_PATCH_H
#define VRAMFIT_MODEL_PATCH_H

#include <string>
#include <vector>

namespace vramfit::model {

struct PatchedFile {
  std::string path;
  std::string before, after;  // the whole text
  std::string diff;           // as `git apply` and `patch -p1` read it, in Patch::root

  bool operator==(const PatchedFile&) const = default;
};

// A technique that is not in the source, and why.
struct UnpatchedTechnique {
  std::string id;
  std::string reason;

  bool operator==(const UnpatchedTechnique&) const = default;
};

struct Patch {
  std::string root;  // the folder that the diffs' names begin in
  std::vector<PatchedFile> files;
  std::vector<std::string> done;  // ids of techniques
  std::vector<UnpatchedTechnique> left;

  bool operator==(const Patch&) const = default;
};

}  // namespace vramfit::model

#endif
