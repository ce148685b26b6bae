// Faults on pages that are made inaccessible on purpose.
#ifndef VRAMFIT_VIRTUAL_GPU_HOST_FAULTS_H
#define VRAMFIT_VIRTUAL_GPU_HOST_FAULTS_H

#include <csignal>
#include <cstdint>

#include "virtual_gpu/ledger/export.h"

namespace vramfit::host {

// Whether the fault at an address was one of ours and is mended: the access is then tried again.
using Mend = bool (*)(uintptr_t address);

// Asks `mend` at every SIGSEGV and SIGBUS from here on, before the process's own handlers. False: the system refuses.
bool watch_faults(Mend mend);

// False for the second fault in a row of one thread at one address: trying again is no use.
bool first_fault_at(uintptr_t address);

// What sigaction() does for a program while we watch: its handlers come after ours.
VF_EXPORT bool is_watched(int signal);
VF_EXPORT int set_own_action(int signal, const struct sigaction* next, struct sigaction* before);

}  // namespace vramfit::host

#endif
