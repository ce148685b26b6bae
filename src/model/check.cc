#include "model/check.h"

namespace vramfit::model {

std::string_view to_string(Agreement agreement) {
  switch (agreement) {
    case Agreement::kSame:
      return "same";
    case Agreement::kReordered:
      return "reordered";
    case Agreement::kDifferent:
      return "different";
    case Agreement::kNotCompared:
      break;
  }
  return "not_compared";
}

std::string_view to_string(CheckCause cause) {
  switch (cause) {
    case CheckCause::kReordering:
      return "reordering";
    case CheckCause::kWorkspace:
      return "workspace";
    case CheckCause::kAddressOrder:
      return "address_order";
    case CheckCause::kSettings:
      return "settings";
    case CheckCause::kTorchVersion:
      return "torch_version";
    case CheckCause::kPackage:
      return "package";
    case CheckCause::kScaled:
      return "scaled";
    case CheckCause::kShorter:
      return "shorter";
    case CheckCause::kNotKnown:
      break;
  }
  return "not_known";
}

}  // namespace vramfit::model
