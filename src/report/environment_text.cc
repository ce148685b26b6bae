#include "report/environment_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "report/json_parts.h"
#include "report/layout.h"
#include "report/schemas.h"

namespace vramfit::report {

using model::EnvironmentCheck;
using model::EnvironmentState;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kIndent = 4;

std::string_view mark_of(EnvironmentState state) {
  switch (state) {
    case EnvironmentState::kOk:
      return "[✓]";
    case EnvironmentState::kWarning:
      return "[!]";
    case EnvironmentState::kProblem:
      return "[✗]";
    case EnvironmentState::kUnknown:
      break;
  }
  return "[?]";
}

std::int64_t count(const std::vector<EnvironmentCheck>& checks, EnvironmentState state) {
  return std::ranges::count(checks, state, &EnvironmentCheck::state);
}

std::string amount(std::int64_t number, std::string_view word) {
  return fmt::format("{} {}{}", number, word, number == 1 ? "" : "s");
}

}  // namespace

std::string environment_to_text(const std::vector<EnvironmentCheck>& checks) {
  std::string text;
  for (const EnvironmentCheck& check : checks) {
    text += wrap(fmt::format("{} {}", mark_of(check.state), check.text), kPageWidth, kIndent) + "\n";
    if (!check.why.empty()) text += "    " + wrap(check.why, kPageWidth - kIndent, kIndent) + "\n";
    if (!check.fix.empty()) text += "    " + wrap("try: " + check.fix, kPageWidth - kIndent, kIndent + 5) + "\n";
  }
  const std::int64_t problems = count(checks, EnvironmentState::kProblem);
  const std::int64_t warnings = count(checks, EnvironmentState::kWarning);
  const std::int64_t unknown = count(checks, EnvironmentState::kUnknown);
  text += fmt::format("\n{}, {}", amount(problems, "problem"), amount(warnings, "warning"));
  if (unknown > 0) text += fmt::format(", {} not looked at", unknown);
  return text + "\n";
}

std::string environment_to_json(const std::vector<EnvironmentCheck>& checks, std::string_view version) {
  Json list = Json::array();
  for (const EnvironmentCheck& check : checks) {
    list.push_back({{"id", check.id},
                    {"state", std::string(to_string(check.state))},
                    {"text", check.text},
                    {"why", or_null(check.why)},
                    {"fix", or_null(check.fix)}});
  }
  const Json file = {{"schema", kInitSchema},
                     {"vramfit", version},
                     {"problems", count(checks, EnvironmentState::kProblem)},
                     {"warnings", count(checks, EnvironmentState::kWarning)},
                     {"checks", std::move(list)}};
  return base::json_file(file);
}

}  // namespace vramfit::report
