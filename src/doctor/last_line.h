// The line in which a log ends, where it is like none of the lines above and nobody understood it: a program that fails
// says so last, in whatever language.
#ifndef VRAMFIT_DOCTOR_LAST_LINE_H
#define VRAMFIT_DOCTOR_LAST_LINE_H

#include <optional>

#include "doctor/scene.h"

namespace vramfit::doctor {

// The last line that has letters, if it is strange: another shape than any line before it, no ordinary end, and words
// of another language, words of failures, one word alone, or words that no figure, label or announcement explains.
// None: it is as the log goes on, or ends.
std::optional<model::SourceLine> find_strange_last_line(const model::TextFile& file);

}  // namespace vramfit::doctor

#endif
