// Which releases of PyTorch, CUDA and Python this vramfit knows (platforms.json), and what is said of others.
#ifndef VRAMFIT_JOB_PLATFORMS_H
#define VRAMFIT_JOB_PLATFORMS_H

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "job/interpreter.h"
#include "job/torch_releases.h"

namespace vramfit::job {

struct Platforms {
  std::vector<TorchRelease> torch;  // newest first
  std::vector<int> cuda_majors;     // with stand-ins, rising
  // CUDA as the driver counts it (13000), newest first, and the driver that its toolkit ships with.
  std::vector<std::pair<int, std::string>> drivers;
};

// Throws on a text that is no such file: it is compiled in.
Platforms parse_platforms(std::string_view text);

// What is compiled in.
const Platforms& platforms();

// Refuses a torch whose CUDA has no stand-ins: it would not come to its end of being imported.
base::Result<void> check_cuda(const Interpreter& interpreter, const Platforms& known = platforms());

// What to say of an interpreter whose torch or Python is newer or older than all that are known; empty: nothing.
std::vector<std::string> describe_unknown(const Interpreter& interpreter, const Platforms& known = platforms());

}  // namespace vramfit::job

#endif
