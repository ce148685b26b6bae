// Makes a diagnosis of a case: every cause looks, the findings are ranked, and what could not be judged is said.
#ifndef VRAMFIT_DOCTOR_DIAGNOSE_H
#define VRAMFIT_DOCTOR_DIAGNOSE_H

#include <vector>

#include "doctor/case.h"
#include "doctor/scene.h"
#include "model/finding.h"

namespace vramfit::doctor {

model::Diagnosis diagnose(const Case& given);

// What the causes' own rules find, the most probable first, before known texts are compared with. Empty: no trouble.
std::vector<model::Finding> ask_rules(const Scene& scene);

}  // namespace vramfit::doctor

#endif
