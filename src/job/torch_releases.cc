#include "job/torch_releases.h"

#include <fmt/format.h>

#include <algorithm>

#include "job/interpreter.h"
#include "job/platforms.h"

namespace vramfit::job {
std::span<const TorchRelease> torch_releases() { return platforms().torch; }

std::optional<TorchRelease> find_torch_release(std::string_view version) {
  const auto found = std::ranges::find_if(platforms().torch, [version](const TorchRelease& release) {
    return release.version == version || release.version.starts_with(fmt::format("{}.", version));
  });
  if (version.empty() || found == platforms().torch.end()) return std::nullopt;
  return *found;
}

std::optional<TorchRelease> choose_torch_release(const std::vector<model::ComputeCapability>& cards, int python_minor) {
  const auto suits = [&](const TorchRelease& release) {
    const auto built = parse_architectures(release.architectures);
    return python_minor >= release.python_first && python_minor <= release.python_last &&
           std::ranges::all_of(cards, [&built](const auto& card) { return has_kernels_for(built, card); });
  };
  for (const bool first_class : {true, false}) {
    const auto found = std::ranges::find_if(platforms().torch, [&](const TorchRelease& release) {
      return release.is_first_class == first_class && suits(release);
    });
    if (found != platforms().torch.end()) return *found;
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

std::vector<std::string> exact_requirements_of(const TorchRelease& release) {
  std::vector<std::string> both = {fmt::format("torch==={}", release.version)};
  if (!release.torchvision.empty()) both.push_back(fmt::format("torchvision==={}", release.torchvision));
  return both;
}

}  // namespace vramfit::job
