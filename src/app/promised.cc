#include "app/promised.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingest/plan_file.h"
#include "plan/promise.h"

namespace vramfit::app {
namespace {

using model::Change;
using model::Plan;
using model::Sameness;

// An optimizer that the plan names is mostly another one; nothing here knows the script's own.
bool is_another_training(const Change& change, const plan::Promise& promise) {
  if (!promise.meant.empty()) return true;
  return change.technique == "optimizer" && model::find_text(change, "name") && !plan::is_eight_bit(change);
}

bool has_note(const std::vector<facts::TechniqueNote>& notes, const std::string& technique) {
  return std::ranges::find(notes, technique, &facts::TechniqueNote::id) != notes.end();
}

std::string sentence_of(std::string_view what, const Plan& plan, bool is_named, std::string_view file) {
  const bool has_fewer_bits = plan::find_promise(plan).at_most == Sameness::kPrecision;
  const std::string unseen = plan::find_unseen(plan);
  return fmt::format("that {}{}{} is promised, not compared here: {}", what, has_fewer_bits ? ", in fewer bits," : "",
                     is_named ? " but for what is named above" : "",
                     unseen.empty() ? fmt::format("vramfit verify {} -- ... compares it", file) : unseen);
}

}  // namespace

std::vector<std::string> find_promised(const Plan& plan, const facts::Told& told, std::string_view file) {
  Plan training, evaluation;
  for (const Change& change : plan.changes) {
    const plan::Promise promise = plan::find_promise(change);
    const bool is_applied = has_note(told.plan_applied, change.technique);
    if (!is_applied || promise.exact || is_another_training(change, promise)) continue;
    (promise.outputs > 0 ? evaluation : training).changes.push_back(change);
  }
  const auto is_named = [&](const Plan& of) {
    return std::ranges::any_of(of.changes,
                               [&](const Change& change) { return has_note(told.plan_effects, change.technique); });
  };
  std::vector<std::string> sentences;
  for (const auto& [what, of] :
       {std::pair("it trains the same", &training), std::pair("evaluations put out the same", &evaluation)}) {
    if (!of->changes.empty()) sentences.push_back(sentence_of(what, *of, is_named(*of), file));
  }
  return sentences;
}

void add_promised(const job::RunRequest& request, job::RunOutcome& outcome) {
  if (!request.plan) return;
  const auto plan = ingest::read_plan(*request.plan);
  if (plan) outcome.result.plan_promised = find_promised(*plan, outcome.facts->told, request.plan->string());
}

}  // namespace vramfit::app
