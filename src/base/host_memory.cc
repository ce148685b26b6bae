#include "base/host_memory.h"

#include <fstream>
#include <string>

namespace vramfit::base {

std::int64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  std::int64_t kib = 0;
  while (info >> name >> kib) {
    if (name == "MemAvailable:") return kib << 10;
    info.ignore(100, '\n');
  }
  return 0;
}

}  // namespace vramfit::base
