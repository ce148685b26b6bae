#include "isolate/counters.h"

#include <sstream>

namespace vramfit::isolate {

namespace {

// Two lines each: "Ip: Forwarding ... OutNoRoutes ...", then "Ip: 1 ... 3 ...".
std::int64_t field(const std::string& text, const std::string& protocol, const std::string& wanted) {
  std::istringstream lines(text);
  std::string names, values;
  while (std::getline(lines, names) && std::getline(lines, values)) {
    if (!names.starts_with(protocol + ":")) continue;
    std::istringstream name_words(names), value_words(values);
    std::string name, value;
    while (name_words >> name && value_words >> value) {
      if (name == wanted) return std::atoll(value.c_str());
    }
  }
  return 0;
}

}  // namespace

std::int64_t refused_packets(const std::string& snmp) {
  return field(snmp, "Ip", "OutNoRoutes") + field(snmp, "Udp", "NoPorts");
}

std::int64_t refused_packets6(const std::string& snmp6) {
  std::istringstream words(snmp6);
  std::string name;
  std::int64_t value = 0, sum = 0;
  while (words >> name >> value) {
    if (name == "Ip6OutNoRoutes" || name == "Udp6NoPorts") sum += value;
  }
  return sum;
}

}  // namespace vramfit::isolate
