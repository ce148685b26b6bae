#include "views/sweep_facts.h"

#include <utility>

namespace vramfit::views {

report::page::SweepFacts build_sweep_facts(model::SweepResult result, const history::FindRun& find) {
  report::page::SweepFacts facts{.result = std::move(result), .runs = {}};
  for (const model::Trial& trial : facts.result.trials) {
    facts.runs.push_back({.number = find && !trial.run.empty() ? find(trial.run) : 0, .link = {}});
  }
  return facts;
}

}  // namespace vramfit::views
