#include "model/run_result.h"

namespace vramfit::model {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kBorderline:
      return "borderline";
    case Verdict::kOutOfMemory:
      return "out_of_memory";
    case Verdict::kFailed:
      break;
  }
  return "failed";
}

}  // namespace vramfit::model
