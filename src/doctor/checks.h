// One check for each group of causes: what was found, or whether the evidence was there to find anything.
#ifndef VRAMFIT_DOCTOR_CHECKS_H
#define VRAMFIT_DOCTOR_CHECKS_H

#include <vector>

#include "doctor/scene.h"
#include "model/finding.h"

namespace vramfit::doctor {

std::vector<model::Check> make_checks(const Scene& scene, const std::vector<model::Finding>& findings);

}  // namespace vramfit::doctor

#endif
