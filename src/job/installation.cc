#include "job/installation.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace vramfit::job {

namespace fs = std::filesystem;

namespace {

base::Result<void> make_private_folder(const fs::path& folder) {
  mkdir(folder.c_str(), 0700);
  struct stat status {};
  if (lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    return {};
  }
  return base::fail(base::ErrorCode::kSystem, "there is no folder of your own for a link to this installation",
                    folder.string(), "remove it, or install vramfit in a folder whose path has no blank and no colon");
}

// ld.so takes LD_PRELOAD apart at blanks and colons, and nothing quotes one: an installation in such a folder is given
// another name, a link that stays and that only this user can have made.
base::Result<fs::path> name_for_preloading(const fs::path& root) {
  if (root.string().find_first_of(" \t\n:;") == std::string::npos) return root;
  const fs::path folder = fs::path(P_tmpdir) / fmt::format("vramfit-{}", geteuid());  // TMPDIR may have a blank
  if (const auto made = make_private_folder(folder); !made) return std::unexpected(made.error());
  const fs::path link = folder / fmt::format("{:016x}", std::hash<std::string>{}(root.string()));
  std::error_code problem;
  if (fs::read_symlink(link, problem) == root) return link;
  const fs::path made = folder / fmt::format("{}.{}", link.filename().string(), getpid());
  fs::create_symlink(root, made, problem);
  if (!problem) fs::rename(made, link, problem);
  if (!problem) return link;
  return base::fail(base::ErrorCode::kSystem, "a link to this installation can't be made: " + problem.message(),
                    link.string(), "install vramfit in a folder whose path has no blank and no colon");
}

}  // namespace

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
  auto named = name_for_preloading(installation.root);
  if (!named) return std::unexpected(named.error());
  installation.root = std::move(*named);
  return installation;
}

}  // namespace vramfit::job
