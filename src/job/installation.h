// Where the parts of vramfit lie: one tree, the same in the build folder, in a wheel and under a prefix.
#ifndef VRAMFIT_JOB_INSTALLATION_H
#define VRAMFIT_JOB_INSTALLATION_H

#include <filesystem>
#include <string>

#include "base/error.h"

namespace vramfit::job {

struct Installation {
  std::filesystem::path root;
  std::filesystem::path recorder() const { return root / "lib" / "libvramfit_recorder.so"; }
  std::filesystem::path real_recorder() const { return root / "lib" / "libvramfit_real.so"; }
  std::filesystem::path layer_library() const { return root / "lib" / "libvramfit_layer.so"; }
  std::filesystem::path stand_ins(int cuda_major) const { return root / "lib" / ("cu" + std::to_string(cuda_major)); }
  std::filesystem::path commands() const { return root / "lib" / "commands"; }  // nvidia-smi of virtual cards
  std::filesystem::path preload(int cuda_major) const { return stand_ins(cuda_major) / "libvramfit_preload.so"; }
  std::filesystem::path python() const { return root / "python"; }
  std::filesystem::path hook() const { return root / "python" / "vramfit" / "hook"; }
  std::filesystem::path catalogue() const { return root / "share" / "vramfit" / "cards.toml"; }
  std::filesystem::path networks() const { return root / "share" / "vramfit" / "networks.toml"; }
};

// VRAMFIT_HOME if set (for programs that are not bin/vramfit, such as tests), else the tree this program stands in.
base::Result<Installation> find_installation();

}  // namespace vramfit::job

#endif
