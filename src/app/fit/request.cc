#include "app/fit/request.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest_word.h"
#include "model/number_text.h"
#include "plan/techniques/registry.h"

namespace vramfit::app {

using base::ErrorCode;
using base::Result;

namespace {

Result<void> check_ids(const std::vector<std::string>& ids, std::string_view option) {
  for (const std::string& id : ids) {
    if (plan::find_technique(id) != nullptr) continue;
    const std::vector<std::string> known = known_techniques();
    const std::string meant = base::did_you_mean(id, known);
    return base::fail(ErrorCode::kUsage, fmt::format("there is no technique \"{}\"{}", id, meant), std::string(option),
                      meant.empty() ? fmt::format("known are: {}", fmt::join(known, ", ")) : "");
  }
  return {};
}

}  // namespace

std::vector<std::string> known_techniques() { return plan::technique_ids(); }

Result<void> check_request(const FitRequest& request) {
  if (request.run.real || request.run.cards.empty()) {
    return base::fail(ErrorCode::kUsage, "fit works on virtual cards: it has to run the job dozens of times", "--gpu",
                      "name the card, as in --gpu \"RTX 3060\"");
  }
  if (auto only = check_ids(request.only, "--only"); !only) return only;
  for (const std::string& phase : request.phases) {
    if (phase == model::phase::kTrain || model::is_evaluation(phase)) continue;
    return base::fail(ErrorCode::kUsage, fmt::format("a plan has nothing to change in a phase \"{}\"", phase),
                      "--phase", "known are: train, validate, test");
  }
  return check_ids(request.deny, "--deny");
}

}  // namespace vramfit::app
