// Makes a diagnosis of a case: every cause looks, the findings are ranked, and what could not be judged is said.
#ifndef VRAMFIT_DOCTOR_DIAGNOSE_H
#define VRAMFIT_DOCTOR_DIAGNOSE_H

#include "doctor/case.h"
#include "model/finding.h"

namespace vramfit::doctor {

model::Diagnosis diagnose(const Case& given);

}  // namespace vramfit::doctor

#endif
