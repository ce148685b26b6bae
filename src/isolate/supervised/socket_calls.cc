// Sockets with a name among the files: multiprocessing's, a database's. Their names lie in the layer as files do. And
// what would leave the machine.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "isolate/supervised/calls.h"

namespace vramfit::isolate {

namespace fs = std::filesystem;
using base::FileDescriptor;

namespace {

constexpr std::size_t kHead = offsetof(sockaddr_un, sun_path);

// A place in the layer may be longer than an address holds: its folder goes in as a descriptor of ours.
struct ShortAddress {
  explicit ShortAddress(const std::string& place)
      : folder(::open(fs::path(place).parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    address.sun_family = AF_UNIX;
    const std::string path = fmt::format("/proc/self/fd/{}/{}", folder.number(), fs::path(place).filename().string());
    fits = folder && path.size() < sizeof address.sun_path;
    if (fits) std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  FileDescriptor folder;
  sockaddr_un address{};
  bool fits = false;
};

struct Destination {
  bool leaves_machine = false;
  std::uint16_t port = 0;          // of the machine itself; 0: none
  std::string_view abstract_name;  // of a unix socket, into the address
};

Destination destination_of(const sockaddr_storage& to, std::size_t length) {
  if (to.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(to);
    return {(ntohl(four.sin_addr.s_addr) >> 24) != 127, ntohs(four.sin_port), {}};
  }
  if (to.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(to);
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&six.sin6_addr) != 0;
    const bool is_own = is_mapped ? six.sin6_addr.s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0;
    return {!is_own, ntohs(six.sin6_port), {}};
  }
  const auto& unix = reinterpret_cast<const sockaddr_un&>(to);
  const bool is_abstract = to.ss_family == AF_UNIX && length > kHead + 1 && unix.sun_path[0] == '\0';
  return {false, 0, is_abstract ? std::string_view(unix.sun_path + 1, length - kHead - 1) : std::string_view()};
}

}  // namespace

// Empty: not a name among the files.
std::string Calls::socket_path(std::uint64_t address, std::uint64_t size) const {
  sockaddr_un given{};
  const std::size_t length = std::min<std::uint64_t>(size, sizeof given);
  if (length <= kHead || !target_.read(address, &given, length) || given.sun_family != AF_UNIX) return "";
  return std::string(given.sun_path, ::strnlen(given.sun_path, length - kHead));
}

// False: `problem` is the answer.
bool Calls::find_socket(const std::string& path, Found& found, Answer& problem) {
  const std::string from = path.starts_with('/') ? "/" : base_of(AT_FDCWD);
  found = tree_.find(from, path, true);
  if (found.error != 0) problem = Answer::error(found.error);
  return !found.outside && found.error == 0;
}

Answer Calls::bind_socket() {
  const std::string path = socket_path(argument(1), argument(2));
  Found found;
  Answer problem;
  if (path.empty() || !find_socket(path, found, problem)) return problem;
  if (found.exists) return Answer::error(EADDRINUSE);
  if (problem = parent_ready(found); problem.kind == Answer::Kind::kError) return problem;
  const std::string own = tree_.mirror_of(found.path);
  const ShortAddress address(own);
  const FileDescriptor socket = target_.take(number(0));
  if (!socket || !address.fits) return Answer::error(socket ? ENAMETOOLONG : EACCES);
  if (::bind(socket.number(), address.get(), sizeof address.address) != 0) return Answer::error(errno);
  ::chmod(own.c_str(), 0777 & ~target_.umask());
  tree_.made(found.path);
  sockets_[target_.socket(number(0))] = path;
  return Answer::done();
}

Answer Calls::connect_socket() {
  const std::string path = socket_path(argument(1), argument(2));
  if (path.empty()) return send();
  Found found;
  Answer problem;
  if (!find_socket(path, found, problem)) return problem;
  if (!found.exists) return Answer::error(ENOENT);
  if (found.clean && reach_.network) return Answer::kernel();
  if (found.clean) {  // as in an overlay: whoever listens there is not the job's
    refused_network_ = true;
    return Answer::error(ECONNREFUSED);
  }
  const ShortAddress address(found.place);
  const FileDescriptor socket = target_.take(number(0));
  if (!socket || !address.fits) return Answer::error(socket ? ENAMETOOLONG : EACCES);
  // A full queue must not keep everybody waiting: the caller hears of it instead.
  const int flags = ::fcntl(socket.number(), F_GETFL);
  ::fcntl(socket.number(), F_SETFL, flags | O_NONBLOCK);
  const int connected = ::connect(socket.number(), address.get(), sizeof address.address);
  const int reason = errno;
  ::fcntl(socket.number(), F_SETFL, flags);
  return connected == 0 ? Answer::done() : Answer::error(reason);
}

// The name that the job gave, which is not the one it has.
Answer Calls::tell_socket() {
  const auto known = sockets_.find(target_.socket(number(0)));
  if (known == sockets_.end()) return Answer::kernel();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(known->second.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, known->second.data(), length);
  const auto size = static_cast<socklen_t>(kHead + length + 1);
  socklen_t room = 0;
  if (!target_.read(argument(2), &room, sizeof room)) return Answer::error(EFAULT);
  const bool is_told =
      target_.write(argument(1), &address, std::min(size, room)) && target_.write(argument(2), &size, sizeof size);
  return is_told ? Answer::done() : Answer::error(EFAULT);
}

int Calls::refusal_of(std::uint64_t address, std::uint64_t size) {
  sockaddr_storage to{};
  const std::size_t length = std::min<std::size_t>(size, sizeof to);
  if (address == 0 || length < sizeof(sa_family_t) || !target_.read(address, &to, length)) return 0;
  const Destination destination = destination_of(to, length);
  if (destination.leaves_machine) return ENETUNREACH;
  const bool is_outside = destination.abstract_name.empty() ? reach_.services->is_outside(destination.port)
                                                            : reach_.services->is_outside(destination.abstract_name);
  return is_outside ? ECONNREFUSED : 0;
}

Answer Calls::send() {
  if (reach_.network) return Answer::kernel();
  int refusal = 0;
  if (call_.nr == SYS_connect) {
    refusal = refusal_of(argument(1), argument(2));
  } else if (call_.nr == SYS_sendto) {
    refusal = refusal_of(argument(4), argument(5));
  } else {
    msghdr message{};
    const bool is_read = target_.read(argument(1), &message, sizeof message);
    if (is_read) refusal = refusal_of(reinterpret_cast<std::uint64_t>(message.msg_name), message.msg_namelen);
  }
  refused_network_ = refusal != 0;
  return refusal != 0 ? Answer::error(refusal) : Answer::kernel();
}

}  // namespace vramfit::isolate
