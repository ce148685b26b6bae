// A cause: its stable names, how it is recognised, and what `vramfit explain` says of it. One file each in causes/.
#ifndef VRAMFIT_DOCTOR_CAUSE_H
#define VRAMFIT_DOCTOR_CAUSE_H

#include <span>
#include <string>
#include <string_view>

#include "doctor/draft.h"
#include "doctor/scene.h"
#include "model/finding.h"

namespace vramfit::doctor {

// The group of a cause is its code's first digit: VF1xx size, VF2xx lifetime, VF3xx fragmentation and settings, VF4xx
// other users of the card, VF5xx host, VF6xx libraries, VF7xx platform; VF0xx is "can't tell".
struct Cause {
  std::string_view code;
  std::string_view label;
  std::string_view title;    // one sentence, without numbers
  std::string_view decides;  // what in the evidence decides it, for the table in the docs
  std::string_view what;     // for explain: paragraphs
  std::string_view cure;     // for explain: paragraphs
  // Looks at the scene and writes into the draft what speaks for this cause; a draft nobody weighed is dropped.
  void (*look)(const Scene& scene, Draft& draft);
};

// Every cause, in the order of their codes.
std::span<const Cause* const> all_causes();

// Finds a cause by its code ("VF201", in any case) or label; null: there is none of that name.
const Cause* find_cause(std::string_view name);

model::CausePage page_of(const Cause& cause);

}  // namespace vramfit::doctor

#endif
