// The kernel's counters of a network: what wanted to leave it and could not.
#ifndef VRAMFIT_ISOLATE_COUNTERS_H
#define VRAMFIT_ISOLATE_COUNTERS_H

#include <cstdint>
#include <string>

namespace vramfit::isolate {

// Counts, in /proc/net/snmp, packets without a route and questions to a name server that is not there; 0: not told.
std::int64_t refused_packets(const std::string& snmp);
// The same in /proc/net/snmp6.
std::int64_t refused_packets6(const std::string& snmp6);

}  // namespace vramfit::isolate

#endif
