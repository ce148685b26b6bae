#include "base/file.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
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

namespace {

constexpr int kPipePatienceMs = 10'000;
constexpr int kLooksAtPipe = 25;
constexpr unsigned kPauseOfLooksUs = 10'000;
constexpr std::size_t kMostText = std::size_t{2} << 30;

// Opening a named pipe waits until somebody is at its other end, perhaps for ever. So it is opened without waiting, and
// waits as any other descriptor from then on.
Result<FileDescriptor> open_without_waiting(const fs::path& path, int mode, const char* complaint) {
  FileDescriptor file(::open(path.c_str(), mode | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno(complaint, path.string());
  const int flags = ::fcntl(file.number(), F_GETFL);
  if (flags < 0 || ::fcntl(file.number(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    return fail_errno(complaint, path.string());
  return file;
}

// /dev/zero and the like never end.
bool is_endless(const FileDescriptor& file, const fs::path& path) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || !(S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))) return false;
  std::error_code ignored;
  return ::isatty(file.number()) == 0 && fs::canonical(path, ignored) != "/dev/null";
}

bool is_pipe(const FileDescriptor& file) {
  struct stat status {};
  return ::fstat(file.number(), &status) == 0 && S_ISFIFO(status.st_mode);
}

// Whether nobody has opened the pipe to write, and nothing is left in it: tee() tells without taking a byte. What a
// shell has just started in the background is given a moment.
bool is_abandoned(const FileDescriptor& pipe) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  const FileDescriptor read_end(ends[0]), write_end(ends[1]);
  for (int look = 0; look < kLooksAtPipe; ++look) {
    if (::tee(pipe.number(), write_end.number(), 1, SPLICE_F_NONBLOCK) != 0) return false;
    ::usleep(kPauseOfLooksUs);
  }
  return true;
}

// Whether something can be read from the pipe, or it was closed after something had been.
bool has_writer(const FileDescriptor& pipe) {
  pollfd waiting{pipe.number(), POLLIN, 0};
  return ::poll(&waiting, 1, kPipePatienceMs) > 0 && (waiting.revents & POLLIN) != 0;
}

// The bytes up to `most`; with one more it is too long, or cut there.
Result<std::string> read_up_to(const fs::path& path, std::size_t most, bool cuts) {
  const auto opened = open_without_waiting(path, O_RDONLY, "cannot open the file");
  if (!opened) return std::unexpected(opened.error());
  const FileDescriptor& file = *opened;
  if (is_endless(file, path)) {
    return fail(ErrorCode::kUsage, "this is a device, not a file", path.string(), "name a file");
  }
  if (is_pipe(file) && is_abandoned(file)) {
    return fail(ErrorCode::kUnsupported, "nobody writes to this pipe", path.string(),
                "start what writes to it first, or name a file");
  }
  if (is_pipe(file) && !has_writer(file)) {
    return fail(ErrorCode::kSystem, "nothing comes out of this pipe", path.string(), "is anybody writing to it?");
  }
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.number(), buffer, sizeof buffer);
    if (got == 0) return text;
    if (got > 0 && text.size() + static_cast<std::size_t>(got) > most) {
      if (cuts) return text.append(buffer, most - text.size());
      return fail(ErrorCode::kUnsupported, "this is longer than anything that is read as a whole (2 GiB)",
                  path.string());
    }
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return fail_errno("cannot read the file", path.string());
    }
  }
}

}  // namespace

Result<std::string> read_file(const fs::path& path) { return read_up_to(path, kMostText, /*cuts=*/false); }
Result<std::string> read_beginning(const fs::path& path, std::size_t most) {
  return read_up_to(path, most, /*cuts=*/true);
}

namespace {

// A pipe whose reader has gone is an error of the write, and not the end of this process.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;
  ~NoBrokenPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{};
      sigtimedwait(&pipe_, nullptr, &at_once);
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }

 private:
  sigset_t pipe_{}, before_{};
};

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
    const NoBrokenPipeSignal unharmed;
    const auto file = open_without_waiting(path, O_WRONLY, "nobody reads from it, or it cannot be opened");
    if (!file) return std::unexpected(file.error());
    if (!write_all(file->number(), text)) return fail_errno("cannot write", path.string());
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

Result<void> check_writable(const fs::path& path) {
  struct stat status {};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) {
    return fail(ErrorCode::kUsage, "cannot create the file: a folder has this name", path.string());
  }
  const bool is_replaced = !is_there || S_ISREG(status.st_mode);  // by one written beside it
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (::access((is_replaced ? folder : path).c_str(), W_OK) == 0) return {};
  return fail_errno("cannot create the file", path.string());
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const fs::path& path) {
  const auto opened = open_without_waiting(path, O_RDONLY, "cannot open the file");
  if (!opened) return std::unexpected(opened.error());
  const FileDescriptor& file = *opened;
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return fail_errno("cannot inspect the file", path.string());
  if (S_ISFIFO(status.st_mode)) {
    return fail(ErrorCode::kUnsupported, "a pipe can't be read at any place", path.string(), "save it to a file first");
  }
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
