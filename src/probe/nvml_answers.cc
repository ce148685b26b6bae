#include "probe/nvml_answers.h"

#include <limits>

#include "probe/nvml_calls.h"

namespace vramfit::probe::nvml {

using model::Absence;
using model::Reading;

Absence absence_of(int answer) {
  switch (answer) {
    case kNotSupported:
    case kFunctionNotFound:
    case kArgumentVersionMismatch:
      return Absence::kNotSupported;
    case kNoPermission:
      return Absence::kNoPermission;
    case kGpuIsLost:
    case kResetRequired:
      return Absence::kLost;
    default:
      return Absence::kFailed;
  }
}

// kNoBytes is the largest of the numbers that no card has.
Reading bytes_of(std::uint64_t bytes) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return Absence::kNotSupported;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace vramfit::probe::nvml
