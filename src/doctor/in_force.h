// What texts, snapshots and the stack show to be in force where it failed: settings, and the platform.
#ifndef VRAMFIT_DOCTOR_IN_FORCE_H
#define VRAMFIT_DOCTOR_IN_FORCE_H

#include "doctor/scene.h"

namespace vramfit::doctor {

// The scene's messages, stack and snapshots are known.
InForce find_in_force(const Scene& scene);
Platform find_platform(const Scene& scene);

}  // namespace vramfit::doctor

#endif
