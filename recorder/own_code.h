#ifndef VRAMFIT_RECORDER_OWN_CODE_H
#define VRAMFIT_RECORDER_OWN_CODE_H

#include <string>
#include <string_view>

namespace vramfit::recorder {

// The kind of code that a Python file holds.
enum class Whose {
  kUsers,      // not installed, not generated
  kPackage,    // an installed package's, which is what runs where a program was started by its name (`tune run`)
  kMachinery,  // PyTorch's and the standard library's, our hooks', generated, or the script that starts a program
};

// `hooks_folder` ends in '/'; empty when unknown.
Whose whose_code(std::string_view file, std::string_view hooks_folder);

// "train.py:84 in train"; the file relative to `folder` (ends in '/') when it lies beneath it, else to where packages
// are installed.
std::string line_text(std::string_view file, int line, std::string_view function, std::string_view folder);

}  // namespace vramfit::recorder

#endif
