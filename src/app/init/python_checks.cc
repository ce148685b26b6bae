#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <set>

#include "app/init/checks.h"
#include "job/platforms.h"

namespace vramfit::app {

using model::CardReading;
using model::EnvironmentCheck;
using model::EnvironmentState;

namespace {

constexpr int kOldestDriver = 525;  // CUDA 12.0's; older ones run no current build of torch

// "13.0" -> 13; 0: no number.
int major_of(std::string_view version) { return std::atoi(std::string(version).c_str()); }

std::string architectures_text(const std::vector<model::ComputeCapability>& architectures) {
  std::string text;
  for (const auto& one : architectures) text += fmt::format("{}sm_{}{}", text.empty() ? "" : " ", one.major, one.minor);
  return text;
}

EnvironmentCheck check_driver(const InitFacts& facts) {
  const auto& driver = facts.machine.driver;
  if (!driver.answers) {
    return {"driver", EnvironmentState::kWarning, driver.problem.empty() ? "no NVIDIA driver answers" : driver.problem,
            "Only virtual cards can be used here: vramfit run --gpu NAME.",
            facts.container.empty() ? "nvidia-smi tells more where there is a card"
                                    : "start the container with --gpus all"};
  }
  if (major_of(driver.version) > 0 && major_of(driver.version) < kOldestDriver) {
    return {"driver", EnvironmentState::kProblem, fmt::format("driver {} (CUDA {})", driver.version, driver.cuda),
            fmt::format("Builds of torch for CUDA 12 and later need driver {} or newer.", kOldestDriver),
            "update the driver, or install a build of torch for an older CUDA"};
  }
  return good("driver", fmt::format("driver {}, up to CUDA {}, {} card{}", driver.version, driver.cuda,
                                    facts.machine.cards.size(), facts.machine.cards.size() == 1 ? "" : "s"));
}

EnvironmentCheck check_torch(const InitFacts& facts) {
  if (!facts.interpreter) return unknown("torch", facts.interpreter.error().what);
  const job::Interpreter& python = *facts.interpreter;
  if (python.torch.empty()) {
    return {"torch", EnvironmentState::kWarning, fmt::format("Python {} has no torch", python.python),
            "vramfit run would use an environment of its own.", "pip install torch, or vramfit env"};
  }
  if (python.cuda.empty()) {
    return {
        "torch", EnvironmentState::kProblem, fmt::format("torch {} is a build without CUDA", python.torch),
        "It never uses a card.",
        fmt::format("pip install torch --index-url https://download.pytorch.org/whl/cu{}", job::count_cuda("") / 100)};
  }
  const auto& driver = facts.machine.driver;
  const std::string text = fmt::format("torch {} for CUDA {}, Python {}", python.torch, python.cuda, python.python);
  // Any driver of a major release runs all of its minor ones (CUDA's minor version compatibility).
  if (driver.answers && major_of(driver.cuda) > 0 && major_of(python.cuda) > major_of(driver.cuda)) {
    return {"torch", EnvironmentState::kProblem, text,
            fmt::format("Driver {} goes up to CUDA {}: torch.cuda.is_available() will be False.", driver.version,
                        driver.cuda),
            "update the driver, or install a build of torch for an older CUDA"};
  }
  if (const auto known = job::check_cuda(python); !known) {
    return {"torch", EnvironmentState::kWarning, text, known.error().what + ".", known.error().remedy};
  }
  if (const auto untested = job::describe_unknown(python); !untested.empty()) {
    return {"torch", EnvironmentState::kWarning, text, fmt::format("{}.", fmt::join(untested, "; ")),
            "vramfit runs it, and says so in each result"};
  }
  return good("torch", text);
}

void add_kernels(const InitFacts& facts, std::vector<EnvironmentCheck>& checks) {
  if (!facts.interpreter || facts.interpreter->cuda.empty() || facts.machine.cards.empty()) return;
  const auto& architectures = facts.interpreter->architectures;
  std::set<std::string> seen;
  for (const CardReading& card : facts.machine.cards) {
    if (!card.parent.empty() || !seen.insert(card.name).second) continue;
    const auto known = facts.capabilities.find(card.name);
    if (known == facts.capabilities.end() || architectures.empty()) {
      checks.push_back(
          unknown("kernels", fmt::format("{}: whether this torch has kernels for it is not known", card.name)));
    } else if (job::has_kernels_for(architectures, known->second)) {
      checks.push_back(good("kernels", fmt::format("{}: this torch has kernels for sm_{}{}", card.name,
                                                   known->second.major, known->second.minor)));
    } else {
      checks.push_back({"kernels", EnvironmentState::kProblem,
                        fmt::format("{} is sm_{}{}; this torch has {}", card.name, known->second.major,
                                    known->second.minor, architectures_text(architectures)),
                        "The first kernel will fail: no kernel image is available for execution on the device.",
                        "another build of torch: vramfit env lists which has kernels for it"});
    }
  }
}

}  // namespace

std::vector<EnvironmentCheck> check_python(const InitFacts& facts) {
  std::vector<EnvironmentCheck> checks = {check_driver(facts), check_torch(facts)};
  add_kernels(facts, checks);
  return checks;
}

}  // namespace vramfit::app
