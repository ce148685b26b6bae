#include "model/environment_check.h"

namespace vramfit::model {

std::string_view to_string(EnvironmentState state) {
  switch (state) {
    case EnvironmentState::kOk:
      return "ok";
    case EnvironmentState::kWarning:
      return "warning";
    case EnvironmentState::kProblem:
      return "problem";
    case EnvironmentState::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace vramfit::model
