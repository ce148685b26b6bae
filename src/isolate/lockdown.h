// What keeps a job from taking its layer apart.
#ifndef VRAMFIT_ISOLATE_LOCKDOWN_H
#define VRAMFIT_ISOLATE_LOCKDOWN_H

#include <string>
#include <vector>

#include "base/error.h"

namespace vramfit::isolate {

// The version of Landlock this kernel offers; 0: none.
int landlock_version();

// From here on this process and its children write only beneath `writable` (Landlock): anything else is EACCES, and
// mounts can't be changed any more. Reading stays as it is. Nothing happens where Landlock is older than version 2,
// which could not rename between folders.
base::Result<void> allow_writing(const std::vector<std::string>& writable);

// Capabilities with which the job could change mounts or go around file systems; with those to configure the network
// and to send packets as they are, where it shares the machine's; all of them in a user namespace.
enum class Dropped { kMounting, kMountingAndNetwork, kAll };
void drop_capabilities(Dropped which);

// CAP_SYS_ADMIN is in effect.
bool may_mount();

}  // namespace vramfit::isolate

#endif
