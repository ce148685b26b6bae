#include "isolate/upper_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::FileDescriptor;

namespace {

// Empty: it has none of that name.
std::string attribute(const fs::path& path, const std::string& name) {
  char value[4096];
  for (const char* space : {"trusted.overlay.", "user.overlay."}) {
    const ssize_t size = ::lgetxattr(path.c_str(), (space + name).c_str(), value, sizeof value);
    if (size >= 0) return std::string(value, static_cast<std::size_t>(size));
  }
  return {};
}

UpperKind kind_of(const fs::path& path, const struct stat& status) {
  if (S_ISCHR(status.st_mode) && status.st_rdev == makedev(0, 0)) return UpperKind::kDeleted;
  if (!S_ISDIR(status.st_mode)) return UpperKind::kFile;
  if (!attribute(path, "redirect").empty()) return UpperKind::kMoved;
  return attribute(path, "opaque") == "y" ? UpperKind::kReplaced : UpperKind::kFolder;
}

void walk(const fs::path& folder, const fs::path& relative, const fs::path& below,
          const std::function<void(const UpperEntry&)>& visit) {
  std::error_code problem;
  for (const auto& found : fs::directory_iterator(folder, problem)) {
    struct stat status {};
    if (::lstat(found.path().c_str(), &status) != 0) continue;
    UpperEntry entry{relative / found.path().filename(), found.path(), kind_of(found.path(), status), {}};
    fs::path lower = below / found.path().filename();
    if (entry.kind == UpperKind::kMoved) {
      // "/a/b" from the top, or another name in the same folder.
      const std::string from = attribute(found.path(), "redirect");
      lower = from.starts_with('/') ? fs::path(from.substr(1)) : below / from;
      entry.moved_from = lower;
    }
    visit(entry);
    if (S_ISDIR(status.st_mode)) walk(found.path(), entry.path, lower, visit);
  }
}

bool copy_range(int from, int to, off_t start, off_t end) {
  constexpr std::size_t kChunk = 1 << 20;
  std::string buffer(kChunk, '\0');
  while (start < end) {
    const ssize_t got =
        ::pread(from, buffer.data(), std::min<std::size_t>(kChunk, static_cast<std::size_t>(end - start)), start);
    if (got <= 0 || ::pwrite(to, buffer.data(), static_cast<std::size_t>(got), start) != got) return false;
    start += got;
  }
  return true;
}

}  // namespace

void walk_upper(const fs::path& upper, const std::function<void(const UpperEntry&)>& visit) {
  walk(upper, {}, {}, visit);
}

bool copy_sparse(const fs::path& from, const fs::path& to) {
  const FileDescriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!in || ::fstat(in.number(), &status) != 0) return false;
  const FileDescriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, status.st_mode & 0777));
  if (!out || ::ftruncate(out.number(), status.st_size) != 0) return false;
  for (off_t at = 0; at < status.st_size;) {
    const off_t data = ::lseek(in.number(), at, SEEK_DATA);
    if (data < 0) return errno == ENXIO;  // only a hole is left
    const off_t hole = ::lseek(in.number(), data, SEEK_HOLE);
    if (!copy_range(in.number(), out.number(), data, hole)) return false;
    at = hole;
  }
  return true;
}

}  // namespace vramfit::isolate
