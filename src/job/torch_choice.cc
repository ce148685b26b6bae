#include "job/torch_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>

#include "base/nearest_word.h"
#include "job/platforms.h"

namespace vramfit::job {

using base::Environment;
using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

std::vector<model::ComputeCapability> capabilities_of(const std::vector<model::Card>& cards) {
  std::set<model::ComputeCapability> all;
  for (const model::Card& card : cards) all.insert(card.capability);
  return {all.begin(), all.end()};
}

int minor_of(const std::string& python_version) {
  const std::size_t dot = python_version.find('.');
  return dot == std::string::npos ? 0 : std::atoi(python_version.c_str() + dot + 1);
}

// The interpreters an environment may be built from: the one the command means, then whatever the PATH has.
std::vector<Interpreter> find_bases(const std::optional<Interpreter>& meant, const Environment& environment) {
  std::vector<Interpreter> bases;
  if (meant) bases.push_back(*meant);
  std::vector<std::string> names{"python3"};
  for (const int minor : rank_pythons()) names.push_back(fmt::format("python3.{}", minor));
  for (const std::string& name : names) {
    const auto path = base::find_program(name, environment);
    if (!path) continue;
    const auto found = inspect_interpreter(*path, environment);
    if (!found || std::ranges::any_of(bases, [&](const auto& known) { return known.program == found->program; }))
      continue;
    bases.push_back(*found);
  }
  return bases;
}

std::unexpected<base::Error> fail_without_python(const std::vector<model::Card>& cards) {
  const auto pythons = find_pythons(capabilities_of(cards)).or_else([] { return find_pythons(); });
  return fail(ErrorCode::kNotFound, "there is no python3 on the PATH", {},
              fmt::format("install Python {}, or name an interpreter that has torch: -- /path/to/python ...",
                          to_string(*pythons)));
}

// "2.66.0" and "2.16.0rc1", whole versions. "2.66" is half of one, and most often "2.6" with a key pressed twice.
bool is_whole_version(const std::string& version) {
  static const std::regex kWhole("[0-9]+\\.[0-9]+\\.[0-9]+([.+a-z].*)?");
  return std::regex_match(version, kWhole);
}

// Refuses what is no release before an environment is made for it, which pip would fail to fill.
Result<void> check_asked(const std::string& version) {
  if (find_torch_release(version) || is_whole_version(version)) return {};
  std::vector<std::string> lines;
  for (const TorchRelease& release : torch_releases()) {
    lines.push_back(release.version.substr(0, release.version.rfind('.')));
  }
  const bool is_line = std::regex_match(version, std::regex("[0-9]+\\.[0-9]+"));
  return fail(ErrorCode::kNotFound,
              fmt::format("no release \"{}\" of torch is known{}", version, base::did_you_mean(version, lines)),
              "--torch",
              fmt::format("known are {}; another is asked for by its whole version, as {}", fmt::join(lines, ", "),
                          is_line ? version + ".0" : torch_releases().front().version));
}

// A version that is not in the table may be asked for: it is untested, and comes without torchvision.
Result<TorchChoice> choose_asked(const std::string& version, const std::vector<Interpreter>& bases) {
  const auto known = find_torch_release(version);
  const TorchRelease release = known.value_or(TorchRelease{version, "as the wheel has it", "", "", "sympy", 0, 99, ""});
  for (const Interpreter& base : bases) {
    const int minor = minor_of(base.python);
    if (minor >= release.python_first && minor <= release.python_last) return TorchChoice{release, base};
  }
  return fail(ErrorCode::kUnsupported,
              fmt::format("torch {} needs Python 3.{} to 3.{}, and none is on the PATH", release.version,
                          release.python_first, release.python_last),
              "--torch", "install one of them, or choose another version of torch");
}

Result<TorchChoice> choose_any(const std::vector<model::Card>& cards, const std::vector<Interpreter>& bases) {
  for (const Interpreter& base : bases) {
    if (auto release = choose_torch_release(capabilities_of(cards), minor_of(base.python))) {
      return TorchChoice{*release, base};
    }
  }
  std::string remedy = "emulate cards of one generation";
  if (const auto pythons = find_pythons(capabilities_of(cards)))
    remedy = fmt::format("put a Python from {} on the PATH", to_string(*pythons));
  return fail(ErrorCode::kUnsupported, "no release of torch has kernels for these cards and this Python",
              fmt::format("Python {}", bases.front().python), std::move(remedy));
}

}  // namespace

Result<TorchChoice> choose_torch(const std::optional<std::string>& asked, const std::vector<model::Card>& cards,
                                 const std::optional<Interpreter>& meant, const Environment& environment) {
  if (asked) {
    if (auto right = check_asked(*asked); !right) return std::unexpected(right.error());
  }
  const auto bases = find_bases(meant, environment);
  if (bases.empty()) return fail_without_python(cards);
  return asked ? choose_asked(*asked, bases) : choose_any(cards, bases);
}

std::optional<TorchRelease> find_release_for(const std::vector<model::Card>& cards, const Interpreter& python) {
  return choose_torch_release(capabilities_of(cards), minor_of(python.python));
}

std::string name_cards_without_kernels(const std::vector<model::Card>& cards,
                                       const std::vector<model::ComputeCapability>& architectures) {
  std::vector<std::string> names;
  for (const model::Card& card : cards) {
    if (architectures.empty() || has_kernels_for(architectures, card.capability)) continue;
    auto name = fmt::format("{} (compute capability {}.{})", card.name, card.capability.major, card.capability.minor);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace vramfit::job
