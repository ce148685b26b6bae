#include "job/torch_releases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "job/interpreter.h"

namespace vramfit::job {
namespace {

constexpr std::string_view kPascalOn = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90";
constexpr std::string_view kVoltaOn = "sm_70 sm_75 sm_80 sm_86 sm_90 sm_100 sm_120";
constexpr std::string_view kTuringOn = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120";

// Source: METADATA, torch/version.py and libtorch_python.so of each wheel; torchvision by its own Requires-Dist.
constexpr std::array<TorchRelease, 8> kReleases{{
    {"2.15.0", "13.2", "0.29.2", "3.9.0", "sympy>=1.13.3", 11, 15, kTuringOn},
    {"2.14.0", "13.0", "0.29.0", "3.8.0", "sympy>=1.13.3", 10, 14, kTuringOn},
    {"2.12.1", "13.0", "0.27.1", "3.7.1", "sympy>=1.13.3", 10, 14, kTuringOn, true},
    {"2.11.0", "13.0", "0.26.0", "3.6.0", "sympy>=1.13.3", 10, 14, kTuringOn},
    {"2.9.1", "12.8", "0.24.1", "3.5.1", "sympy>=1.13.3", 10, 14, kVoltaOn},
    {"2.8.0", "12.8", "0.23.0", "3.4.0", "sympy>=1.13.3", 9, 13, kVoltaOn},
    {"2.6.0", "12.4", "0.21.0", "3.2.0", "sympy==1.13.1", 9, 13, kPascalOn, true},
    {"2.5.1", "12.4", "0.20.1", "3.1.0", "sympy==1.13.1", 9, 12, kPascalOn},
}};

}  // namespace

std::span<const TorchRelease> torch_releases() { return kReleases; }

std::optional<TorchRelease> find_torch_release(std::string_view version) {
  const auto found = std::ranges::find_if(kReleases, [version](const TorchRelease& release) {
    return release.version == version || release.version.starts_with(fmt::format("{}.", version));
  });
  if (version.empty() || found == kReleases.end()) return std::nullopt;
  return *found;
}

std::optional<TorchRelease> choose_torch_release(const std::vector<model::ComputeCapability>& cards, int python_minor) {
  const auto suits = [&](const TorchRelease& release) {
    const auto built = parse_architectures(release.architectures);
    return python_minor >= release.python_first && python_minor <= release.python_last &&
           std::ranges::all_of(cards, [&built](const auto& card) { return has_kernels_for(built, card); });
  };
  for (const bool first_class : {true, false}) {
    const auto found = std::ranges::find_if(kReleases, [&](const TorchRelease& release) {
      return release.is_first_class == first_class && suits(release);
    });
    if (found != kReleases.end()) return *found;
  }
  return std::nullopt;
}

std::vector<std::string> requirements_of(const TorchRelease& release) {
  std::vector<std::string> all = {fmt::format("torch=={}", release.version)};
  if (!release.torchvision.empty()) all.push_back(fmt::format("torchvision=={}", release.torchvision));
  // sympy needs mpmath below 1.4; Jinja2 needs MarkupSafe; setuptools below 82 keeps pkg_resources (torch's own limit).
  all.emplace_back(release.sympy);
  for (const char* name : {"mpmath<1.4", "numpy", "pillow", "filelock", "typing-extensions", "networkx", "jinja2",
                           "MarkupSafe", "fsspec", "setuptools<82"}) {
    all.emplace_back(name);
  }
  return all;
}

}  // namespace vramfit::job
