// The failure to explain: which message of a case it is, its traceback, the stack there, and the terms of the message.
#ifndef VRAMFIT_DOCTOR_FAILURE_H
#define VRAMFIT_DOCTOR_FAILURE_H

#include <vector>

#include "doctor/scene.h"

namespace vramfit::doctor {

bool is_of_host(const model::OomMessage& oom);
bool has_numbers(const model::OomMessage& oom);
bool holds_line(const model::Traceback& traceback, const model::SourceLine& at);
bool is_about_memory(const model::TracedException& exception);

// The message to explain: of the last group of failures (each rank once) the first, because the others follow from it;
// within it, one with numbers. Null: there is none.
const model::OomMessage* choose_oom(const std::vector<const model::OomMessage*>& ooms);

// The traceback that ends in this message; without one that has it, the nearest that speaks of memory.
const model::Traceback* traceback_of(const model::Evidence& texts, const model::OomMessage* oom);

Stack stack_of(const model::Traceback& traceback, const model::OomMessage* oom);
Stack stack_of(const model::RunResult& run);

Terms terms_of(const model::OomMessage& oom);

}  // namespace vramfit::doctor

#endif
