#ifndef VRAMFIT_RECORDER_OWN_CODE_H
#define VRAMFIT_RECORDER_OWN_CODE_H

#include <string>
#include <string_view>

namespace vramfit::recorder {

// Whether a Python file is the user's own: not installed, not the standard library, not generated, not our hooks.
// `hooks_folder` ends in '/'; empty when unknown.
bool is_own_code(std::string_view file, std::string_view hooks_folder);

// "train.py:84 in train"; the file relative to `folder` (ends in '/') when it lies beneath it.
std::string line_text(std::string_view file, int line, std::string_view function, std::string_view folder);

}  // namespace vramfit::recorder

#endif
