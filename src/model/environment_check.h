// What `vramfit init` says of a machine, line by line.
#ifndef VRAMFIT_MODEL_ENVIRONMENT_CHECK_H
#define VRAMFIT_MODEL_ENVIRONMENT_CHECK_H

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::model {

enum class EnvironmentState {
  kOk,
  kWarning,  // it works, and may cost memory, time or a run later
  kProblem,  // jobs will fail
  kUnknown   // it could not be looked at; `text` says why
};
std::string_view to_string(EnvironmentState state);  // ok, warning, problem, unknown

struct EnvironmentCheck {
  std::string id;  // driver, torch, allocator ...; never renamed
  EnvironmentState state = EnvironmentState::kOk;
  std::string text;  // what was found
  std::string why;   // it matters; empty for ok
  std::string fix;   // a command or a setting; empty where there is none
  friend bool operator==(const EnvironmentCheck&, const EnvironmentCheck&) = default;
};

}  // namespace vramfit::model

#endif
