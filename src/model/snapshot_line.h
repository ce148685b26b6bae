// The line of a recorded stack that a person knows.
#ifndef VRAMFIT_MODEL_SNAPSHOT_LINE_H
#define VRAMFIT_MODEL_SNAPSHOT_LINE_H

#include <string>
#include <string_view>
#include <vector>

#include "model/snapshot.h"

namespace vramfit::model {

// ".../bin/tune": what pip writes to start a program that a package brings.
bool starts_a_program(std::string_view file);

// Whether a file is one of our own hooks, through which a job's calls go: never the line that a person looks for.
bool is_of_vramfit(std::string_view file);
// Whether a file is of Python's own library, a package, generated code or C++.
bool is_library(std::string_view file);
// Whether a file is of an installed package other than PyTorch: named where a package is the program (`tune run`).
bool is_package_beside_torch(std::string_view file);

// Whether a frame is of C++ or C: PyTorch's, the interpreter's, the system's. Recordings have them by default.
bool is_compiled(const Snapshot& snapshot, const Frame& frame);

// "train.py:12 forward": the innermost line that is the user's own, else the innermost one of Python. A stack without
// any says what it is, as far as that can be told: "(backward, in C++: AddmmBackward0)".
std::string line_of(const model::Snapshot& snapshot, model::StackId stack);

// A frame as it is shown; without a file it stands for several that were folded.
struct ShownFrame {
  std::string function;
  std::string_view file;
  int line = 0;
};

// A stack as a person reads it, outermost first: the frames of the interpreter are left out, and those of C++ below the
// innermost line of Python are one, the operator: "zeros_like (C++)".
std::vector<ShownFrame> shown_frames(const Snapshot& snapshot, StackId stack);

}  // namespace vramfit::model

#endif
