// The kernel's counters of a network: what wanted to leave it and could not.
#ifndef VRAMFIT_ISOLATE_COUNTERS_H
#define VRAMFIT_ISOLATE_COUNTERS_H

#include <cstdint>
#include <string>

namespace vramfit::isolate {

// Of /proc/net/snmp: packets without a route, and questions to a name server that is not there. 0 where it says
// nothing.
std::int64_t refused_packets(const std::string& snmp);
// Of /proc/net/snmp6.
std::int64_t refused_packets6(const std::string& snmp6);

}  // namespace vramfit::isolate

#endif
