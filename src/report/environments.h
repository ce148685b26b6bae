// The Python environments that vramfit keeps, as lines and as JSON.
#ifndef VRAMFIT_REPORT_ENVIRONMENTS_H
#define VRAMFIT_REPORT_ENVIRONMENTS_H

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::report {

struct EnvironmentRow {
  std::string torch, folder, python;  // version of torch; the environment's folder and its interpreter
};

std::string environments_to_text(const std::vector<EnvironmentRow>& rows);
std::string environments_to_json(const std::vector<EnvironmentRow>& rows, std::string_view version);

}  // namespace vramfit::report

#endif
