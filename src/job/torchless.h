// Whether a job can do with an interpreter that has no CUDA build of torch: JAX, TensorFlow and CuPy bring their own
// way to the card, and a script may need none of them. Nothing of the job is imported to find out.
#ifndef VRAMFIT_JOB_TORCHLESS_H
#define VRAMFIT_JOB_TORCHLESS_H

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/subprocess.h"

namespace vramfit::job {

struct TorchlessLook {
  // The ones of jax, tensorflow, cupy and paddle that the interpreter has, as "jax 0.10.2".
  std::vector<std::string> frameworks;
  std::string cuda;   // "12.9": of the CUDA runtime installed beside them; empty: none was found
  bool read = false;  // the job's code was found and is Python
  std::vector<std::string>
      imported;                      // modules that the script, and what it imports of its own folder, can't do without
  std::vector<std::string> missing;  // those of them that the interpreter does not have
  friend bool operator==(const TorchlessLook&, const TorchlessLook&) = default;
};

// `command` as it would be started, with `interpreter` in the place of its first word when that is a Python. The code
// can do without an import whose failure it catches.
base::Result<TorchlessLook> look_without_torch(const std::filesystem::path& interpreter,
                                               const std::vector<std::string>& command,
                                               const base::Environment& environment);

// True for code that imports one of the frameworks, or has all it asks for and does not ask for torch. What the
// interpreter has decides for code that can't be read.
bool can_do_without_torch(const TorchlessLook& look);

}  // namespace vramfit::job

#endif
