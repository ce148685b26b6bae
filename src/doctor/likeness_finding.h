// Where no rule knows a cause, or none finds trouble: what published texts with such words were about.
#ifndef VRAMFIT_DOCTOR_LIKENESS_FINDING_H
#define VRAMFIT_DOCTOR_LIKENESS_FINDING_H

#include <string>
#include <vector>

#include "doctor/likeness.h"
#include "doctor/scene.h"
#include "model/finding.h"

namespace vramfit::doctor {

// `findings`: ranked. Puts a cause before "unknown", and before growth that somebody tells of, where texts of it are
// like this one, and holds back "all well" where texts of no trouble are not. Only texts alone are compared: a run or a
// snapshot knows better.
void ask_known_texts(const Scene& scene, std::vector<model::Finding>& findings,
                     const KnownTexts& known = KnownTexts::built_in(), const Gates& gates = {});

// What of the texts is compared: all of short ones, the ends of long ones.
std::string words_compared(const Scene& scene);

}  // namespace vramfit::doctor

#endif
