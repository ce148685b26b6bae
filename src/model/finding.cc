#include "model/finding.h"

namespace vramfit::model {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kHelp:
      return "help";
    case Severity::kNote:
      break;
  }
  return "note";
}

std::string_view to_string(CheckState state) {
  switch (state) {
    case CheckState::kPass:
      return "pass";
    case CheckState::kFail:
      return "fail";
    case CheckState::kNotApplicable:
      return "not_applicable";
    case CheckState::kUnknown:
      return "unknown";
    case CheckState::kError:
      break;
  }
  return "error";
}

std::string_view to_string(Applicability applicability) {
  switch (applicability) {
    case Applicability::kAsIs:
      return "as_is";
    case Applicability::kMayBeWrong:
      return "may_be_wrong";
    case Applicability::kFillIn:
      break;
  }
  return "fill_in";
}

}  // namespace vramfit::model
