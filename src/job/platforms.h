// Which releases of PyTorch, CUDA and Python this vramfit knows (platforms.json), and what is said of others.
#ifndef VRAMFIT_JOB_PLATFORMS_H
#define VRAMFIT_JOB_PLATFORMS_H

#include <optional>
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

// Minor versions of Python 3.
struct PythonRange {
  int first = 0, last = 0;
  friend bool operator==(const PythonRange&, const PythonRange&) = default;
};
std::string to_string(PythonRange range);  // "3.9 to 3.15"

// The Pythons for which some known torch has a wheel with kernels for all of these cards; empty: no release has them
// all.
std::optional<PythonRange> find_pythons(const std::vector<model::ComputeCapability>& cards = {},
                                        const Platforms& known = platforms());

// The minor versions to look for on a machine: those that most releases have wheels for first, of these the newest.
std::vector<int> rank_pythons(const Platforms& known = platforms());

// Refuses a torch whose CUDA has no stand-ins: it would not come to its end of being imported.
base::Result<void> check_cuda(const Interpreter& interpreter, const Platforms& known = platforms());

// What to say of an interpreter whose torch or Python is newer or older than all that are known; empty: nothing.
std::vector<std::string> describe_unknown(const Interpreter& interpreter, const Platforms& known = platforms());

}  // namespace vramfit::job

#endif
