// Memory of context and libraries, from messages: in use - allocated - reserved but unallocated, to 10 MiB.
#ifndef VRAMFIT_DOCTOR_OUTSIDE_PYTORCH_H
#define VRAMFIT_DOCTOR_OUTSIDE_PYTORCH_H

#include <vector>

#include "doctor/case.h"
#include "model/finding.h"

namespace vramfit::doctor {

// One for each message that prints all three figures; equal ones once. Compared with what a virtual card charges, where
// the card is known: as the user says, as the texts name it, or by its capacity.
std::vector<model::OutsidePyTorch> find_outside_pytorch(const Case& given);

}  // namespace vramfit::doctor

#endif
