#include "app/testing/verify_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "facts/job_builder.h"
#include "facts/recordings.h"
#include "plan/search/candidate.h"
#include "plan/stream/player.h"
#include "plan/techniques/registry.h"
#include "verify/forecast.h"

namespace vramfit::app {

namespace {

constexpr double kCardOfPeak = 0.6;  // the card that options are made for

verify::ToldForecast without_overhead(const plan::Outlook& outlook, base::Bytes overhead) {
  verify::ToldForecast told{outlook.allocated, outlook.needs - overhead, outlook.uses - overhead, {}};
  for (const plan::PhaseOutlook& phase : outlook.phases) told.phases[phase.phase] = phase.peak - overhead;
  return told;
}

// The job as it is; of each axis the mildest option, the middle and the strongest; pairs of the strongest.
std::vector<plan::Candidate> choose_candidates(const std::vector<plan::Axis>& axes) {
  plan::Candidate none;
  none.levels.assign(axes.size(), 0);
  std::vector<plan::Candidate> chosen = {none};
  const auto with = [](plan::Candidate candidate, std::size_t axis, std::size_t level) {
    candidate.levels[axis] = static_cast<std::uint8_t>(level);
    return candidate;
  };
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::size_t strongest = axes[a].options.size();
    for (const std::size_t level : {std::size_t{1}, (strongest + 1) / 2, strongest}) {
      plan::Candidate candidate = with(none, a, level);
      if (std::ranges::find(chosen, candidate) == chosen.end()) chosen.push_back(std::move(candidate));
    }
    for (std::size_t b = 0; b < a; ++b) {
      if (axes[a].technique->slot() == axes[b].technique->slot()) continue;
      chosen.push_back(with(with(none, a, strongest), b, axes[b].options.size()));
    }
  }
  return chosen;
}

}  // namespace

VerifiedForecasts verify_forecasts(const job::RunOutcome& outcome, const model::Card& card) {
  VerifiedForecasts verified;
  model::Job job = facts::build_job(*outcome.facts, outcome.result);
  const model::DeviceResult* device = model::fullest(outcome.result);
  const plan::StreamPlayer player(job);
  if (device == nullptr || !player.is_sound()) {
    verified.wrong.emplace_back("the planner does not play this job: there is no forecast to count");
    return verified;
  }
  job.oom = model::OomFacts{outcome.result.peak_phase, base::Bytes(), device->peaks.allocated, device->peaks.reserved};
  plan::Target target;
  target.card = card;
  target.limit = plan::scaled(device->peaks.device, kCardOfPeak);
  target.keep_effective_batch = false;
  std::vector<const plan::Technique*> techniques;
  for (const plan::Technique* technique : plan::all_techniques()) techniques.push_back(technique);
  const std::vector<plan::Axis> axes = plan::build_axes(job, target, techniques);
  for (const plan::Candidate& candidate : choose_candidates(axes)) {
    const plan::Explained explained = plan::explain(job, target, axes, candidate, &player);
    const std::string name = explained.plan.name.empty() ? "as it is" : explained.plan.name;
    const auto counted = verify::count_forecast(facts::recordings_of(*outcome.facts), device->index, explained.plan);
    const bool is_played = explained.outlook.allocated > base::Bytes();
    if (!counted.why_not.empty() || !is_played) {
      ++verified.left_out;
      verified.lines.push_back(name + ": not counted: " + (is_played ? counted.why_not : "it is added up, not played"));
      continue;
    }
    ++verified.counted;
    verified.lines.push_back(fmt::format("{}: {} told, {} counted", name, to_string(explained.outlook.allocated),
                                         to_string(counted.allocated)));
    for (const std::string& one : check_forecast(counted, without_overhead(explained.outlook, job.overhead))) {
      verified.wrong.push_back(name + ": " + one);
    }
  }
  return verified;
}

}  // namespace vramfit::app
