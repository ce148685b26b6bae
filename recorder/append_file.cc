#include "append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace vramfit::recorder {

bool AppendFile::open_once() {
  if (fd_ >= 0) return true;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (start_ == Start::kTruncate ? O_TRUNC : 0);
  fd_ = ::open(path_.c_str(), flags, 0600);
  return fd_ >= 0;
}

bool AppendFile::append(std::string_view bytes) {
  if (failed_) return false;
  if (!open_once()) {
    failed_ = true;
    return false;
  }
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      failed_ = true;
      return false;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void AppendFile::close_quietly() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  failed_ = true;
}

}  // namespace vramfit::recorder
