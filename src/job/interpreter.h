// Which Python interpreter a command means, and what it would import as torch. Nothing is imported to find out.
#ifndef VRAMFIT_JOB_INTERPRETER_H
#define VRAMFIT_JOB_INTERPRETER_H

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/subprocess.h"
#include "model/card.h"

namespace vramfit::job {

struct Interpreter {
  std::filesystem::path program;       // sys.executable: inside a virtual environment, the environment's own
  std::string python;                  // "3.11.7"
  std::string torch;                   // "2.12.1+cu130"; empty: there is none
  std::string cuda;                    // "13.0"; empty: no torch, or a build without CUDA
  std::filesystem::path torch_folder;  // .../site-packages/torch
  // Capabilities with kernels in this build, as torch.cuda.get_arch_list() has them. Empty: unknown.
  std::vector<model::ComputeCapability> architectures;
  friend bool operator==(const Interpreter&, const Interpreter&) = default;
};

// How a command comes to Python.
struct CommandShape {
  std::filesystem::path program;      // argv[0], found
  std::filesystem::path interpreter;  // what to ask: the program itself, or the one its first line names
  bool is_launcher = false;           // torchrun, accelerate: a script with a Python first line
  bool is_guess = false;              // a program of another kind: it starts the Python among its words, or the PATH's
};

// Finds argv[0] as the user's shell would, an active virtual environment first.
base::Result<CommandShape> find_interpreter(const std::vector<std::string>& command,
                                            const base::Environment& environment);

// Asks the interpreter (about 30 ms) where it is and where it would find torch.
base::Result<Interpreter> inspect_interpreter(const std::filesystem::path& interpreter,
                                              const base::Environment& environment);

// Fills in what torch/version.py and the architecture list in torch/lib/libtorch_python.so say.
base::Result<void> read_torch(const std::filesystem::path& folder, Interpreter& interpreter);

// "sm_75 sm_80 sm_90a" anywhere in the bytes of a library; the longest such list counts.
std::vector<model::ComputeCapability> parse_architectures(std::string_view bytes);

// A cubin runs on its own major version from its minor on (CUDA C++ Programming Guide, "Binary Compatibility").
// The wheels carry no PTX, so nothing else runs.
bool has_kernels_for(const std::vector<model::ComputeCapability>& architectures, model::ComputeCapability card);

}  // namespace vramfit::job

#endif
