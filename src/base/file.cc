#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace vramfit::base {

namespace fs = std::filesystem;

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

int FileDescriptor::release() { return std::exchange(number_, -1); }

void FileDescriptor::close() {
  if (number_ >= 0) ::close(release());
}

Result<std::string> read_file(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot open the file", path.string());
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got == 0) return text;
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return fail_errno("cannot read the file", path.string());
    }
  }
}

namespace {

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(file, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

}  // namespace

Result<void> write_file(const fs::path& path, std::string_view text) {
  // A device or a pipe (/dev/stderr, /dev/fd/3) can't be replaced by renaming: it is written to.
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file || !write_all(file.number(), text)) return fail_errno("cannot write", path.string());
    return {};
  }
  const fs::path beside = path.string() + "." + std::to_string(::getpid()) + ".part";
  FileDescriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) return fail_errno("cannot create the file", path.string());
  const bool written = write_all(file.number(), text) && ::fsync(file.number()) == 0;
  if (written && ::rename(beside.c_str(), path.c_str()) == 0) return {};
  auto failure = fail_errno("cannot write the file", path.string());
  ::unlink(beside.c_str());
  return failure;
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot open the file", path.string());
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return fail_errno("cannot inspect the file", path.string());
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return std::shared_ptr<MappedFile>(new MappedFile(nullptr, 0));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (data == MAP_FAILED) return fail_errno("cannot map the file", path.string());
  return std::shared_ptr<MappedFile>(new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace vramfit::base
