// Where a program was when it failed: training, evaluation, placing weights ... from stack, run and messages.
#ifndef VRAMFIT_DOCTOR_WHEREABOUTS_H
#define VRAMFIT_DOCTOR_WHEREABOUTS_H

#include "doctor/scene.h"

namespace vramfit::doctor {

// Reads the scene's stack, texts and run; everything else of it may be unset yet.
Whereabouts find_whereabouts(const Scene& scene);

}  // namespace vramfit::doctor

#endif
