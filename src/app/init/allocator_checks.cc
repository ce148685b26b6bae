#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "allocator/rules.h"
#include "allocator/settings.h"
#include "app/init/checks.h"
#include "base/nearest_word.h"
#include "job/platforms.h"

namespace vramfit::app {

using model::EnvironmentCheck;
using model::EnvironmentState;

namespace {

// A key of the text that PyTorch does not know, with the one that was meant.
std::string guess_meant(std::string_view conf) {
  for (std::size_t from = 0; from < conf.size();) {
    const std::size_t end = std::min(conf.find(',', from), conf.size());
    std::string_view pair = conf.substr(from, end - from);
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    const std::string key(pair.substr(0, pair.find(':')));
    from = end + 1;
    const std::vector<std::string>& known = allocator::setting_names();
    if (std::ranges::find(known, key) != known.end()) continue;
    if (const auto nearest = base::nearest_word(key, known)) {
      return fmt::format("{} instead of {}", *nearest, key);
    }
  }
  return "";
}

allocator::Rules rules_for_job(const InitFacts& facts) {
  int major = 0, minor = 0;
  if (facts.interpreter && std::sscanf(facts.interpreter->torch.c_str(), "%d.%d", &major, &minor) == 2) {
    return allocator::rules_of({major, minor});
  }
  const auto [tested_major, tested_minor] = job::first_class_torch();
  return allocator::rules_of({tested_major, tested_minor});
}

}  // namespace

std::vector<EnvironmentCheck> check_allocator(const InitFacts& facts) {
  const auto fresh = facts.variables.find("PYTORCH_ALLOC_CONF"), old = facts.variables.find("PYTORCH_CUDA_ALLOC_CONF");
  const bool has_fresh = fresh != facts.variables.end(), has_old = old != facts.variables.end();
  if (!has_fresh && !has_old) {
    return {good("allocator", "PYTORCH_ALLOC_CONF is not set: PyTorch's own settings")};
  }
  std::vector<EnvironmentCheck> checks;
  for (const auto& one : {fresh, old}) {
    if (one == facts.variables.end()) continue;
    const auto settings = allocator::parse_settings(one->second, rules_for_job(facts));
    if (settings) {
      checks.push_back(good("allocator", fmt::format("{}={}", one->first, one->second)));
      continue;
    }
    const std::string meant = guess_meant(one->second);
    checks.push_back({"allocator", EnvironmentState::kProblem, fmt::format("{}={}", one->first, one->second),
                      settings.error().what + ".", meant.empty() ? "unset " + one->first : meant});
  }
  if (has_fresh && has_old && fresh->second != old->second) {
    checks.push_back({"allocator", EnvironmentState::kWarning, "PYTORCH_ALLOC_CONF and PYTORCH_CUDA_ALLOC_CONF differ",
                      "Which of them counts depends on the release of torch.", "unset PYTORCH_CUDA_ALLOC_CONF"});
  }
  return checks;
}

}  // namespace vramfit::app
