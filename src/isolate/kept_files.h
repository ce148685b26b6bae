// Copies of what a layer held, for --keep-files: as faithful as files of ours can be.
#ifndef VRAMFIT_ISOLATE_KEPT_FILES_H
#define VRAMFIT_ISOLATE_KEPT_FILES_H

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace vramfit::isolate {

// Kept: content with its holes, mode with set-uid bits, times, names of one file as such, links, FIFOs; owners where we
// may give files away. Not kept, and told: sockets, devices, what could not be copied. Attributes are left out.
class KeptFiles {
 public:
  // `seen`: as the job called it.
  void add(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& seen);
  // A folder itself; it gets its mode and times in finish(), or nothing could be put in it.
  void add_folder(const std::filesystem::path& from, const std::filesystem::path& to);
  // Adds a folder with all that is in it.
  void add_tree(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& seen);
  // What was not kept, a line each.
  std::vector<std::string> finish();

 private:
  bool add_file(const std::filesystem::path& from, const std::filesystem::path& to, const struct stat& status);

  std::map<std::pair<dev_t, ino_t>, std::filesystem::path> copied_;  // files of several names
  std::vector<std::pair<std::filesystem::path, struct stat>> folders_;
  std::vector<std::string> left_out_;
};

}  // namespace vramfit::isolate

#endif
