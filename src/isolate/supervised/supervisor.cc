#include "isolate/supervised/supervisor.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "isolate/supervised/calls.h"

// Constants of Linux 5.14 and 6.6, which older headers do not have.
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

namespace vramfit::isolate {

namespace {

constexpr std::uint64_t kWakeInStep = 1;  // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP: the caller goes on where we ran

// The job's descriptor is the result of its call, in one step.
bool send_file(int listener, std::uint64_t id, const Answer& answer) {
  seccomp_notif_addfd added{};
  added.id = id;
  added.flags = SECCOMP_ADDFD_FLAG_SEND;
  added.srcfd = static_cast<std::uint32_t>(answer.file.number());
  added.newfd_flags = answer.closes_on_exec ? O_CLOEXEC : 0;
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added) >= 0;
}

void swap_folders(int listener, std::uint64_t id, const std::vector<Calls::Swap>& swaps) {
  for (const Calls::Swap& swap : swaps) {
    seccomp_notif_addfd added{};
    added.id = id;
    added.flags = SECCOMP_ADDFD_FLAG_SETFD;
    added.srcfd = static_cast<std::uint32_t>(swap.folder.number());
    added.newfd = static_cast<std::uint32_t>(swap.descriptor);
    added.newfd_flags = O_CLOEXEC;
    ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added);
  }
}

void send(int listener, std::uint64_t id, const Answer& answer) {
  seccomp_notif_resp response{};
  response.id = id;
  if (answer.kind == Answer::Kind::kFile) {
    if (send_file(listener, id, answer)) return;
    response.error = -EMFILE;
  } else if (answer.kind == Answer::Kind::kError) {
    response.error = -static_cast<int>(answer.value);
  } else if (answer.kind == Answer::Kind::kValue) {
    response.val = answer.value;
  } else {
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  }
  ::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);  // ENOENT: the caller was killed meanwhile
}

}  // namespace

Supervisor::Supervisor(base::FileDescriptor listener, const SupervisedPlaces& places)
    : listener_(std::move(listener)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      tree_(places.files),
      services_(Services::find()),
      network_(places.network) {
  std::uint64_t flags = kWakeInStep;
  ::ioctl(listener_.number(), SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
  thread_ = std::thread([this] { serve(); });
}

Supervisor::~Supervisor() { stop(); }

void Supervisor::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(stop_.number(), &one, sizeof one);
  thread_.join();
}

void Supervisor::serve() {
  // A mask of our own: modes are the job's, and umask() is one for all threads of a process.
  ::unshare(CLONE_FS);
  ::umask(0);
  SocketNames sockets;
  const Reach reach{network_, &services_};
  while (true) {
    pollfd waiting[2] = {{listener_.number(), POLLIN, 0}, {stop_.number(), POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0 && errno != EINTR) return;
    if ((waiting[1].revents & POLLIN) != 0 || (waiting[0].revents & (POLLHUP | POLLERR)) != 0) return;
    if ((waiting[0].revents & POLLIN) == 0) continue;
    seccomp_notif notice{};
    if (::ioctl(listener_.number(), SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) continue;
    Calls calls(tree_, sockets, reach, notice);
    const Answer answer = calls.answer();
    refused_ += calls.was_refused_network() ? 1 : 0;
    swap_folders(listener_.number(), notice.id, calls.find_swaps());
    send(listener_.number(), notice.id, answer);
  }
}

}  // namespace vramfit::isolate
