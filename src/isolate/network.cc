#include "isolate/network.h"

#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/file.h"

namespace vramfit::isolate {

namespace {

constexpr int kLoopback = 1;  // the index of lo in every new network namespace

std::size_t size_of(int family) { return family == AF_INET ? 4 : 16; }

// RTM_NEWADDR for lo (rtnetlink(7)). One that the kernel refuses is a name that does not resolve to us, no more.
void add_address(int netlink, const Address& address) {
  struct {
    nlmsghdr header;
    ifaddrmsg about;
    rtattr attribute;
    unsigned char bytes[16];
  } message{};
  const std::size_t size = size_of(address.family);
  message.header.nlmsg_type = RTM_NEWADDR;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE;
  message.about.ifa_family = static_cast<unsigned char>(address.family);
  message.about.ifa_prefixlen = static_cast<unsigned char>(size * 8);
  message.about.ifa_index = kLoopback;
  message.about.ifa_flags = address.family == AF_INET6 ? IFA_F_NODAD : 0;
  message.attribute.rta_type = IFA_LOCAL;
  message.attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
  std::memcpy(message.bytes, &address.bytes, size);
  message.header.nlmsg_len = static_cast<unsigned>(NLMSG_LENGTH(sizeof message.about) + RTA_LENGTH(size));
  [[maybe_unused]] const ssize_t sent = ::send(netlink, &message, message.header.nlmsg_len, 0);
}

}  // namespace

std::vector<Address> own_addresses() {
  std::vector<Address> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_LOOPBACK) != 0) continue;
    Address address{one->ifa_addr->sa_family, {}};
    if (address.family == AF_INET) {
      std::memcpy(&address.bytes, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, 4);
    } else if (address.family == AF_INET6) {
      std::memcpy(&address.bytes, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, 16);
    } else {
      continue;
    }
    found.push_back(address);
  }
  ::freeifaddrs(all);
  return found;
}

base::Result<void> set_up_loopback(const std::vector<Address>& addresses) {
  const base::FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (!socket || ::ioctl(socket.number(), SIOCSIFFLAGS, &request) != 0) {
    return base::fail_errno("cannot switch loopback on in a network of its own");
  }
  const base::FileDescriptor netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!netlink) return {};
  for (const Address& address : addresses) add_address(netlink.number(), address);
  return {};
}

}  // namespace vramfit::isolate
