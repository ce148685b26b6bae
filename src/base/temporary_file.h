// An empty file of our own in the folder for temporary ones; goes with its owner.
#ifndef VRAMFIT_BASE_TEMPORARY_FILE_H
#define VRAMFIT_BASE_TEMPORARY_FILE_H

#include <filesystem>
#include <string_view>

namespace vramfit::base {

class TemporaryFile {
 public:
  // Named vramfit-PURPOSE.XXXXXX. Not "vramfit.": what is called so and has no lock counts as a session left behind,
  // and another run removes it.
  explicit TemporaryFile(std::string_view purpose);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  // False when none could be made; errno says why.
  explicit operator bool() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace vramfit::base

#endif
