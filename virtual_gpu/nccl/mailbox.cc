#include "virtual_gpu/nccl/mailbox.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "vramfit/ledger.h"
#include "vramfit/recording.h"

namespace vramfit::nccl {
namespace {

bool write_whole(int fd, const char* data, size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = ::write(fd, data, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    bytes -= static_cast<size_t>(n);
  }
  return true;
}

std::optional<std::string> read_whole(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string bytes;
  char buffer[65536];
  while (true) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.append(buffer, static_cast<size_t>(n));
  }
  ::close(fd);
  return bytes;
}

}  // namespace

bool Mailbox::post(const std::string& key, const void* data, size_t bytes) const {
  const std::string path = path_of(key);
  const std::string draft = path + ".draft";
  int fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 && errno == ENOENT) {
    ::mkdir(folder_.c_str(), 0700);
    fd = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  }
  if (fd < 0) return false;
  const bool written = write_whole(fd, static_cast<const char*>(data), bytes);
  ::close(fd);
  // Renaming makes the message appear whole.
  if (written && ::rename(draft.c_str(), path.c_str()) == 0) return true;
  ::unlink(draft.c_str());
  return false;
}

std::optional<std::string> Mailbox::fetch(const std::string& key, std::chrono::milliseconds limit) const {
  const std::string path = path_of(key);
  const auto until = std::chrono::steady_clock::now() + limit;
  auto pause = std::chrono::microseconds(20);
  while (true) {
    if (auto bytes = read_whole(path)) return bytes;
    if (std::chrono::steady_clock::now() >= until) return std::nullopt;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(2000));
  }
}

void Mailbox::remove(const std::string& key) const { ::unlink(path_of(key).c_str()); }

const Mailbox* session_mailbox() {
  // It lies in the run folder, which goes with the session; a ledger made by hand has none, and keeps its mail beside
  // it.
  static const std::unique_ptr<Mailbox> mailbox = []() -> std::unique_ptr<Mailbox> {
    if (const char* folder = std::getenv(VF_ENV_RUN_DIR))
      return std::make_unique<Mailbox>(std::string(folder) + "/mail");
    if (const char* ledger = std::getenv(VF_ENV_LEDGER))
      return std::make_unique<Mailbox>(std::string(ledger) + ".mail");
    return nullptr;
  }();
  return mailbox.get();
}

}  // namespace vramfit::nccl
