#include "model/equivalence.h"

namespace vramfit::model {

std::string_view to_string(Sameness sameness) {
  switch (sameness) {
    case Sameness::kEqual:
      return "equal";
    case Sameness::kRounding:
      return "rounding";
    case Sameness::kPrecision:
      return "precision";
    case Sameness::kStatistics:
      return "statistics";
    case Sameness::kOther:
      return "other";
    case Sameness::kNotANumber:
      return "not_a_number";
    case Sameness::kNotChecked:
      return "not_checked";
  }
  return "unknown";
}

}  // namespace vramfit::model
