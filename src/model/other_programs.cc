#include "model/other_programs.h"

namespace vramfit::model {

std::string_view to_string(HostTable table) {
  switch (table) {
    case HostTable::kDf:
      return "df";
    case HostTable::kFree:
      return "free";
    case HostTable::kUlimit:
      return "ulimit";
    case HostTable::kMeminfo:
      return "meminfo";
    case HostTable::kDocker:
      return "docker";
  }
  return "host";
}

}  // namespace vramfit::model
