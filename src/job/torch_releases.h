// What is known about released torch wheels on PyPI (Linux x86_64), so that an environment can be put together.
#ifndef VRAMFIT_JOB_TORCH_RELEASES_H
#define VRAMFIT_JOB_TORCH_RELEASES_H

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/card.h"

namespace vramfit::job {

struct TorchRelease {
  std::string version;
  std::string cuda;         // of the wheel on PyPI
  std::string torchvision;  // the release made for it
  std::string triton;       // the release its metadata asks for
  std::string sympy;        // a requirement, "sympy==1.13.1"
  int python_first = 0;     // minor versions of Python 3 with a wheel
  int python_last = 0;
  std::string architectures;    // torch.cuda.get_arch_list(), read from torch/lib/libtorch_python.so of the wheel
  bool is_first_class = false;  // the whole test suite runs on it
};

// Newest first (platforms.json).
std::span<const TorchRelease> torch_releases();

// "2.12.1", or "2.12" for the newest of that line. None: not in the table.
std::optional<TorchRelease> find_torch_release(std::string_view version);

// The release for a kept environment: the newest first-class one with kernels for every capability, or else the
// newest other one; `python_minor` limits it to those with a wheel for that Python.
std::optional<TorchRelease> choose_torch_release(const std::vector<model::ComputeCapability>& cards, int python_minor);

// What torch imports at run time and does not bring: pip requirements without NVIDIA's libraries and triton.
std::vector<std::string> requirements_of(const TorchRelease& release);
// The same torch and torchvision, and no build of them that carries a label of its own, as 2.13.0+cpu does.
std::vector<std::string> exact_requirements_of(const TorchRelease& release);

}  // namespace vramfit::job

#endif
