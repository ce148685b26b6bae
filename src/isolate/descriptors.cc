#include "isolate/descriptors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace vramfit::isolate {

using base::fail_errno;
using base::FileDescriptor;
using base::Result;

namespace {

constexpr std::size_t kMaxFiles = 8, kMaxText = 60000;

// A socket's address holds 107 characters: the folder goes in as a descriptor of ours.
Result<FileDescriptor> open_socket(const std::string& folder, const std::string& name, bool listens) {
  const FileDescriptor place(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!place || !socket) return fail_errno("cannot make a socket", folder);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", place.number(), name);
  if (path.size() >= sizeof address.sun_path) {
    return base::fail(base::ErrorCode::kUsage, "the name of a socket is too long", name);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  if (listens && ::bind(socket.number(), where, sizeof address) == 0 && ::listen(socket.number(), 4) == 0)
    return socket;
  if (!listens && ::connect(socket.number(), where, sizeof address) == 0) return socket;
  return fail_errno(listens ? "cannot listen at a socket" : "cannot reach a socket", folder + "/" + name);
}

}  // namespace

Result<FileDescriptor> listen_in(const std::string& folder, const std::string& name) {
  return open_socket(folder, name, true);
}

Result<FileDescriptor> connect_in(const std::string& folder, const std::string& name) {
  return open_socket(folder, name, false);
}

Result<void> send_parcel(int socket, const std::string& text, const std::vector<int>& files) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFiles)] = {};
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * files.size());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * files.size());
    std::memcpy(CMSG_DATA(header), files.data(), sizeof(int) * files.size());
  }
  if (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) return fail_errno("cannot hand over open files");
  return {};
}

Result<Parcel> receive_parcel(int socket) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxFiles)] = {};
  std::string text(kMaxText, '\0');
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got <= 0) return fail_errno("nothing was handed over");
  Parcel parcel{text.substr(0, static_cast<std::size_t>(got)), {}};
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
      int number = -1;
      std::memcpy(&number, reinterpret_cast<char*>(header) + at, sizeof number);
      parcel.files.emplace_back(number);
    }
  }
  return parcel;
}

std::string read_all(int file) {
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = ::read(file, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
  return text;
}

}  // namespace vramfit::isolate
