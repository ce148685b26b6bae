#ifndef VRAMFIT_RECORDER_PYTHON_OFFSETS_H
#define VRAMFIT_RECORDER_PYTHON_OFFSETS_H

#include <cstdint>
#include <optional>
#include <span>

#include "python_layout.h"

namespace vramfit::recorder {

// What CPython tells debuggers of its structures, from 3.13 on: _PyRuntime begins with _Py_DebugOffsets
// (internal/pycore_debug_offsets.h), the cookie "xdebugpy", the version, whether it is free-threaded, then groups of
// offsets, each behind the size of its structure. Releases insert groups and members: ours are found by what they must
// look like, not by where they stood in one release. Nothing for a table without them, or of a free-threaded build.
std::optional<PythonLayout> read_python_offsets(std::span<const uint64_t> words);

inline constexpr size_t kPythonOffsetsWords = 128;  // 3.15 has about 110; _PyRuntime is larger by far

}  // namespace vramfit::recorder

#endif
