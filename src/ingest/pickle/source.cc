#include "ingest/pickle/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vramfit::ingest::pickle {

base::Result<std::size_t> MemoryStorage::read_at(std::uint64_t offset, std::span<char> room) {
  if (offset >= bytes_.size()) return 0;
  const std::size_t size = std::min(room.size(), bytes_.size() - offset);
  std::memcpy(room.data(), bytes_.data() + offset, size);
  return size;
}

base::Result<FileStorage> FileStorage::open(const std::filesystem::path& path) {
  // It is opened without blocking: somebody may name a FIFO.
  base::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return base::fail_errno("cannot open the file", path.string());
  FileStorage storage(std::move(file), path.string());
  struct stat status {};
  if (fstat(storage.file_.number(), &status) != 0) return base::fail_errno("cannot look at the file", path.string());
  if (S_ISDIR(status.st_mode)) return base::fail(base::ErrorCode::kUsage, "this is a folder", path.string());
  if (!S_ISREG(status.st_mode)) return base::fail(base::ErrorCode::kUsage, "this is no regular file", path.string());
  storage.size_ = static_cast<std::uint64_t>(status.st_size);
  return storage;
}

base::Result<std::size_t> FileStorage::read_at(std::uint64_t offset, std::span<char> room) {
  for (;;) {
    const ssize_t size = ::pread(file_.number(), room.data(), room.size(), static_cast<off_t>(offset));
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno != EINTR) return base::fail_errno("cannot read the file", name_);
  }
}

base::Result<std::size_t> RangeSource::read(std::span<char> room) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), left_));
  if (size == 0) return 0;
  const auto got = storage_.read_at(next_, room.first(size));
  if (got) {
    next_ += *got;
    left_ -= *got;
  }
  return got;
}

}  // namespace vramfit::ingest::pickle
