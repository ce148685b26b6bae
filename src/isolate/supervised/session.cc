#include "isolate/supervised/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

#include "isolate/descriptors.h"
#include "isolate/lockdown.h"
#include "isolate/shared_memory.h"
#include "isolate/supervised/filter.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::FileDescriptor;
using base::Result;

namespace {

// The kernel's own, and devices: never layered. What may be written there is decided by Landlock and by rights.
std::vector<std::string> unlayered(const LayerSpec& spec) {
  std::vector<std::string> places = {"/proc", "/sys", "/dev", spec.staging};
  places.insert(places.end(), spec.shared.begin(), spec.shared.end());
  return places;
}

std::vector<std::string> writable(const LayerSpec& spec) {
  const std::string memory = spec.shared_memory.empty() ? SharedMemoryFolder::kPlace : spec.shared_memory;
  std::vector<std::string> places = {spec.staging,   "/dev/null", "/dev/zero",   "/dev/full",
                                     "/dev/tty",     "/dev/pts",  "/dev/ptmx",   "/dev/random",
                                     "/dev/urandom", memory,      "/dev/mqueue", "/proc"};
  places.insert(places.end(), spec.shared.begin(), spec.shared.end());
  return places;
}

// Sends a descriptor that is only made once this process may not send any more: by a process that shares ours.
class Sender {
 public:
  Sender(int connection) : connection_(connection) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    read_end_ = FileDescriptor(ends[0]);
    write_end_ = FileDescriptor(ends[1]);
    child_ = static_cast<pid_t>(::syscall(SYS_clone, CLONE_FILES | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child_ == 0) send_and_end();
  }
  Result<void> send(int descriptor) {
    int status = 1;
    if (child_ > 0 && ::write(write_end_.number(), &descriptor, sizeof descriptor) == sizeof descriptor &&
        ::waitpid(child_, &status, 0) == child_ && status == 0) {
      return {};
    }
    return base::fail_errno("cannot hand the job's system calls over");
  }

 private:
  [[noreturn]] void send_and_end() {
    int descriptor = -1;
    const bool is_told = ::read(read_end_.number(), &descriptor, sizeof descriptor) == sizeof descriptor;
    ::_exit(is_told && send_parcel(connection_, "supervised", {descriptor}) ? 0 : 1);
  }
  int connection_;
  FileDescriptor read_end_, write_end_;
  pid_t child_ = -1;
};

}  // namespace

Result<void> enter_supervised(const LayerSpec& spec) {
  const fs::path socket = spec.report;
  const auto connection = connect_in(socket.parent_path().string(), socket.filename().string());
  if (!connection) return std::unexpected(connection.error());
  Sender sender(connection->number());
  drop_capabilities(spec.network ? Dropped::kMounting : Dropped::kMountingAndNetwork);
  if (spec.has_files) {
    if (auto locked = allow_writing(writable(spec)); !locked) return locked;
  }
  const auto listener = hand_over_calls(spec.has_files, spec.network);
  if (!listener) return std::unexpected(listener.error());
  return sender.send(listener->number());
}

SupervisedWatch::SupervisedWatch(LayerSpec spec, FileDescriptor socket)
    : spec_(std::move(spec)), socket_(std::move(socket)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  waiting_ = std::thread([this] { wait_for_job(); });
}

SupervisedWatch::~SupervisedWatch() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(stop_.number(), &one, sizeof one);
  if (waiting_.joinable()) waiting_.join();
}

Result<std::unique_ptr<SupervisedWatch>> SupervisedWatch::listen(const LayerSpec& spec) {
  const fs::path path = spec.report;
  auto socket = listen_in(path.parent_path().string(), path.filename().string());
  if (!socket) return std::unexpected(socket.error());
  return std::unique_ptr<SupervisedWatch>(new SupervisedWatch(spec, std::move(*socket)));
}

void SupervisedWatch::wait_for_job() {
  pollfd waiting[2] = {{socket_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}};
  if (::poll(waiting, 2, -1) <= 0 || (waiting[0].revents & POLLIN) == 0) return;
  const FileDescriptor connection(::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  auto parcel = receive_parcel(connection.number());
  if (!parcel || parcel->files.empty()) return;
  const std::lock_guard guard(lock_);
  supervisor_ = std::make_unique<Supervisor>(
      std::move(parcel->files.front()),
      SupervisedPlaces{{spec_.staging, unlayered(spec_), spec_.shared_memory, spec_.limit_bytes}, spec_.network});
}

Result<LayerContents> SupervisedWatch::look() {
  const std::lock_guard guard(lock_);
  if (!supervisor_) return base::fail(base::ErrorCode::kSystem, "the job did not enter its layer");
  supervisor_->stop();
  LayerContents contents = supervisor_->tree().count();
  contents.network_attempts = supervisor_->refused_connections();
  return contents;
}

Result<std::vector<std::string>> SupervisedWatch::keep(const fs::path& folder) const {
  std::error_code problem;
  fs::create_directories(folder, problem);
  std::ofstream deleted(folder / "deleted.txt");
  if (problem || !deleted || !supervisor_) {
    return base::fail_errno("cannot write to the folder for the job's files", folder.string());
  }
  return supervisor_->tree().keep(folder / "files", deleted);
}

}  // namespace vramfit::isolate
