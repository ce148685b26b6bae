// The line of a recorded stack that a person knows.
#ifndef VRAMFIT_MODEL_SNAPSHOT_LINE_H
#define VRAMFIT_MODEL_SNAPSHOT_LINE_H

#include <string>
#include <string_view>

#include "model/snapshot.h"

namespace vramfit::model {

// Whether a file is of Python's own library, a package, generated code or C++.
bool is_library(std::string_view file);
// Whether a file is of an installed package other than PyTorch: named where a package is the program (`tune run`).
bool is_package_beside_torch(std::string_view file);

// "train.py:12 forward": the innermost line that is the user's own, else the innermost there is.
std::string line_of(const model::Snapshot& snapshot, model::StackId stack);

}  // namespace vramfit::model

#endif
