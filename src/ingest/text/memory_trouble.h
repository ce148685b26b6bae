// Whether a line speaks of trouble with memory, in any program's words: a word for memory or for taking some, and near
// it one that says it failed. What such a line means is for the readers that know it; that it is there keeps the doctor
// from saying that all is well.
#ifndef VRAMFIT_INGEST_TEXT_MEMORY_TROUBLE_H
#define VRAMFIT_INGEST_TEXT_MEMORY_TROUBLE_H

#include <cstddef>
#include <optional>
#include <string_view>

#include "ingest/text/reader.h"

namespace vramfit::ingest {

// The sentence of `text` that says so, around its words. Not advice ("if you run out of memory"), code, a counter at 0.
// "tests/test_oom.py::test_out_of_memory_is_caught PASSED": a name of a test, and it went well.
inline bool is_passed_test(std::string_view line) { return line.contains("::") && line.contains(" PASSED"); }

std::optional<std::string_view> find_memory_trouble(std::string_view text);
// Whether a message speaks of it under a condition too: "... if there is none then your RAM was full".
bool supposes_memory_trouble(std::string_view message);

extern const TextFormat kMemoryTroubleFormat;

}  // namespace vramfit::ingest

#endif
