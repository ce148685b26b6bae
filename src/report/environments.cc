#include "report/environments.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/schemas.h"

namespace vramfit::report {

using nlohmann::ordered_json;

std::string environments_to_text(const std::vector<EnvironmentRow>& rows) {
  std::string text;
  for (const EnvironmentRow& row : rows) text += fmt::format("torch {}  {}\n", row.torch, row.folder);
  return text;
}

std::string environments_to_json(const std::vector<EnvironmentRow>& rows, std::string_view version) {
  ordered_json list = ordered_json::array();
  for (const EnvironmentRow& row : rows) {
    list.push_back({{"torch", row.torch}, {"folder", row.folder}, {"python", row.python}});
  }
  return base::json_file(ordered_json{{"schema", kEnvSchema}, {"vramfit", version}, {"environments", list}});
}

}  // namespace vramfit::report
