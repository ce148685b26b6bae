// Whether "all well" is earned where nothing was found: every part of what was given was read, is of a kind that is
// known, and has no words of trouble with memory that nobody explained; neither an error nor what cured it hints at
// memory, and whose words a text is does not make it harmless.
#ifndef VRAMFIT_DOCTOR_ALL_CLEAR_H
#define VRAMFIT_DOCTOR_ALL_CLEAR_H

#include <optional>
#include <string>
#include <vector>

#include "doctor/scene.h"

namespace vramfit::doctor {

// Why it can't be said.
struct Doubt {
  std::string title;      // one sentence
  model::SourceLine at;   // no file: of no single place
  std::string reasoning;  // what is missing
  std::vector<std::string> give;
  model::Severity severity = model::Severity::kNote;
  std::optional<model::Fix> next = std::nullopt;  // what to do, where that alone tells
};

// Only for a scene without a failure of memory.
std::optional<Doubt> find_doubt(const Scene& scene);

// "There is no increase", behind a sentence that told of one.
bool is_denied_later(const model::Evidence& texts, const model::ToldSentence& told);

// What ended a program, where that was seen and is no matter of memory: "ValueError: ...".
std::optional<model::SourceLine> find_other_failure(const Scene& scene);

}  // namespace vramfit::doctor

#endif
