// Errors of any kind, by the form of their lines: the first and the last of a text say what failed where it was not
// memory.
#ifndef VRAMFIT_INGEST_TEXT_OTHER_ERROR_H
#define VRAMFIT_INGEST_TEXT_OTHER_ERROR_H

#include <string_view>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

// "docker: Error response from daemon: no such thing": a program, the word, and what the matter is.
bool tells_error_of_program(std::string_view text);

// A line that names an error of any kind: "ValueError: ...", "Segmentation fault", "error: ...".
bool names_error(std::string_view text);

extern const TextFormat kOtherErrorFormat;

}  // namespace vramfit::ingest

#endif
