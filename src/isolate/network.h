// A network with nothing in it but this machine's own addresses, all on loopback.
#ifndef VRAMFIT_ISOLATE_NETWORK_H
#define VRAMFIT_ISOLATE_NETWORK_H

#include <netinet/in.h>

#include <vector>

#include "base/error.h"

namespace vramfit::isolate {

struct Address {
  int family = 0;    // AF_INET or AF_INET6
  in6_addr bytes{};  // of IPv4: the first four
};

// The addresses of all interfaces but loopback. Asked before the network is left.
std::vector<Address> own_addresses();

// Sets up a new network namespace: loopback is up, and answers for `addresses` too, so that ranks that meet by the
// machine's name find each other.
base::Result<void> set_up_loopback(const std::vector<Address>& addresses);

}  // namespace vramfit::isolate

#endif
