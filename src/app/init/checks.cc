#include "app/init/checks.h"

#include <fmt/format.h>

#include <iterator>

namespace vramfit::app {

using model::EnvironmentCheck;
using model::EnvironmentState;

namespace {

std::vector<EnvironmentCheck> check_container(const InitFacts& facts) {
  if (facts.container.empty()) return {};
  if (facts.container != "WSL 2") return {good("container", fmt::format("runs in {}", facts.container))};
  return {{"container", EnvironmentState::kWarning, "runs in WSL 2",
           "Processes are not listed by the driver, and pinned memory is limited to about half of the RAM.",
           "memory=... in .wslconfig; vramfit watch tells only whole cards"}};
}

}  // namespace

std::vector<EnvironmentCheck> check_environment(const InitFacts& facts) {
  std::vector<EnvironmentCheck> checks;
  for (const auto& check : {check_python, check_allocator, check_cards, check_host, check_disks, check_container}) {
    std::vector<EnvironmentCheck> found = check(facts);
    checks.insert(checks.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  return checks;
}

}  // namespace vramfit::app
