// Who runs a run: enough to tell later whether that very process still lives.
#ifndef VRAMFIT_STORE_PROCESS_H
#define VRAMFIT_STORE_PROCESS_H

#include <cstdint>
#include <string>

namespace vramfit::store {

struct ProcessIdentity {
  std::int64_t id = 0;
  std::int64_t began = 0;  // clock ticks after boot: ids are given again, these two together are not
  std::string boot;        // the kernel's boot_id
  std::string host;        // the machine's (or container's) name
};

ProcessIdentity current_process();
// False only when it is certain that it is gone. A process of another machine (a history on a shared disk) may live.
bool may_live(const ProcessIdentity& process);

}  // namespace vramfit::store

#endif
