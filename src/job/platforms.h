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

// The CUDA major that PyPI's wheel of torch 2.12 is for; where the line is not known, that of the next older known one.
int cuda_major_of_wheel(int torch_major, int torch_minor, const Platforms& known = platforms());

// CUDA as the driver counts it: 13000 of "13.0". A job without any has that of the first release tested throughout.
int count_cuda(const std::string& cuda, const Platforms& known = platforms());

// The driver that a job for this CUDA is told of, with the CUDA that it came with: its own, or the next older one.
const std::pair<int, std::string>& find_driver(int cuda, const Platforms& known = platforms());

// Says whose driver it is if it is another CUDA's. Empty: it is its own.
std::string describe_unknown_driver(const std::string& cuda, const Platforms& known = platforms());

// Says that this line is newer than all whose rules of PyTorch's allocator are known. Empty: it is not.
std::string describe_later_torch(int torch_major, int torch_minor, const Platforms& known = platforms());

// The newest of those that are tested throughout.
const TorchRelease& first_class(const Platforms& known = platforms());

// Its line: 2 and 12 of "2.12.1".
std::pair<int, int> first_class_torch(const Platforms& known = platforms());

// What to say of an interpreter whose torch or Python is not among those that are known; empty: nothing.
std::vector<std::string> describe_unknown(const Interpreter& interpreter, const Platforms& known = platforms());

// The same of a job on virtual cards, which is told of a driver too. A real card has the one that it has.
std::vector<std::string> describe_untested(const Interpreter& interpreter, const Platforms& known = platforms());

}  // namespace vramfit::job

#endif
