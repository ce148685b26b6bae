#include "isolate/inherited.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <optional>

#include "base/file.h"

namespace vramfit::isolate {

namespace {

constexpr int kKept = O_NONBLOCK | O_PATH | O_DIRECTORY;

std::optional<InheritedFile> read_descriptor(int number) {
  const int own = ::fcntl(number, F_GETFD), flags = ::fcntl(number, F_GETFL);
  struct stat status {};
  if (own < 0 || (own & FD_CLOEXEC) != 0 || flags < 0 || ::fstat(number, &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return std::nullopt;
  if ((flags & O_ACCMODE) != O_RDONLY) return std::nullopt;
  std::error_code problem;
  const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", number), problem);
  struct stat named {};
  // One that was removed since has no path any more, or that of another.
  if (problem || ::stat(path.c_str(), &named) != 0 || named.st_ino != status.st_ino || named.st_dev != status.st_dev) {
    return std::nullopt;
  }
  return InheritedFile{number, path.string(), flags & kKept, ::lseek(number, 0, SEEK_CUR)};
}

}  // namespace

std::vector<InheritedFile> list_inherited() {
  std::vector<InheritedFile> found;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", problem)) {
    const std::string name = entry.path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    if (number < 0) continue;
    if (auto file = read_descriptor(number)) found.push_back(std::move(*file));
  }
  return found;
}

void open_again(const std::vector<InheritedFile>& files) {
  for (const InheritedFile& file : files) {
    const base::FileDescriptor opened(::open(file.path.c_str(), file.flags | O_CLOEXEC));
    if (!opened) continue;
    if (file.offset > 0) ::lseek(opened.number(), file.offset, SEEK_SET);
    ::dup2(opened.number(), file.number);  // without O_CLOEXEC
  }
}

}  // namespace vramfit::isolate
