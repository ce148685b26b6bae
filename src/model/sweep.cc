#include "model/sweep.h"

namespace vramfit::model {

std::string_view to_string(TrialState state) {
  switch (state) {
    case TrialState::kWaiting:
      return "waiting";
    case TrialState::kRunning:
      return "running";
    case TrialState::kDone:
      return "done";
    case TrialState::kLost:
      return "lost";
  }
  return "?";
}

}  // namespace vramfit::model
