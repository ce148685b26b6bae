#include "job/installation.h"

#include <cstdlib>

namespace vramfit::job {

namespace fs = std::filesystem;

base::Result<Installation> find_installation() {
  Installation installation;
  std::error_code problem;
  if (const char* home = std::getenv("VRAMFIT_HOME"); home != nullptr && *home != '\0') {
    installation.root = fs::absolute(home);
  } else {
    const fs::path program = fs::read_symlink("/proc/self/exe", problem);
    if (problem)
      return base::fail(base::ErrorCode::kSystem, "cannot tell where this program lies: " + problem.message());
    installation.root = program.parent_path().parent_path();
  }
  if (!fs::exists(installation.catalogue(), problem)) {
    return base::fail(base::ErrorCode::kNotFound,
                      "this installation of vramfit is incomplete: the card catalogue is missing",
                      installation.catalogue().string(), "build or install vramfit again");
  }
  return installation;
}

}  // namespace vramfit::job
