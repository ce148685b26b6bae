#include "app/fit/technique_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "app/fit/measurement.h"
#include "plan/measured_shares.h"
#include "plan/search/search.h"

namespace vramfit::app {
namespace {

using base::Result;
using plan::Rank;
using plan::Technique;

// A measuring run may take at most this share of the time left.
constexpr double kMeasuringShare = 0.12;

// The least rank of its options when each is alone: what makes a slow plan faster beside it takes more from the
// training.
Rank least_rank(const FitContext& fit, const Technique& technique, const model::Job& job) {
  Rank least = Rank::kAnother;
  for (const model::Change& change : technique.options(job, fit.target)) {
    plan::Forecast forecast = plan::start_forecast(job);
    technique.predict(job, fit.target, change, forecast);
    least = std::min(least, rank_of(forecast.effect, plan::time_factor_of(job, fit.target, forecast)));
  }
  return least;
}

}  // namespace

struct TechniqueRuns::Run {
  const Technique* technique = nullptr;  // of the change
  const Technique* asks = nullptr;       // the technique that is foretold from it
  model::Change change;
  std::optional<job::RunRequest> request = std::nullopt;  // once it has begun
};

bool TechniqueRuns::has_time() const { return fit_.result.free_run->wall_seconds <= kMeasuringShare * fit_.left(); }

bool TechniqueRuns::is_unmeasured(const Technique& technique) const {
  if (measured_.contains(std::string(technique.id()))) return false;
  return !find_runs(technique).empty();
}

bool TechniqueRuns::is_needed(const Technique& technique) const {
  return !technique.is_foretold_unmeasured() && is_unmeasured(technique);
}

Rank TechniqueRuns::least_unmeasured(std::optional<Rank> after) const {
  Rank least = Rank::kBeyondAll;
  // What puts right what is wrong with the script comes first, and mostly is enough.
  if (!has_time() || (fit_.result.cause && fit_.result.cause->is_all)) return least;
  for (const Technique* technique : techniques_) {
    if (!is_unmeasured(*technique)) continue;
    const Rank rank = least_rank(fit_, *technique, job_);
    if (!after || rank > *after) least = std::min(least, rank);
  }
  return least;
}

Rank TechniqueRuns::find_foreseen(Rank from) const {
  std::vector<const Technique*> known;
  std::ranges::copy_if(techniques_, std::back_inserter(known), [&](const Technique* one) { return !is_needed(*one); });
  return plan::find_foreseen_rank(job_, fit_.target, plan::build_axes(job_, fit_.target, known), from);
}

// Those that tell what becomes of a job by this technique, and were not made yet.
std::vector<TechniqueRuns::Run> TechniqueRuns::find_runs(const Technique& technique) const {
  std::vector<Run> runs;
  const auto add = [&](const Technique& of_change) {
    for (model::Change& change : of_change.find_all_measurable(job_, fit_.target)) {
      if (!run_.contains(plan::measured_key(change))) runs.push_back({&of_change, &technique, std::move(change)});
    }
  };
  add(technique);
  if (const Technique* witness = technique.find_witness(job_, fit_.target)) add(*witness);
  return runs;
}

std::vector<TechniqueRuns::Run> TechniqueRuns::find_runs(Rank last) const {
  std::vector<Run> runs;
  for (const Technique* technique : techniques_) {
    if (!is_unmeasured(*technique) || least_rank(fit_, *technique, job_) > last) continue;
    for (Run& run : find_runs(*technique)) {
      const bool is_there = std::ranges::find(runs, run.change, &Run::change) != runs.end();  // for another one
      if (!is_there) runs.push_back(std::move(run));
    }
  }
  return runs;
}

Result<void> TechniqueRuns::begin(Run& run) {
  if (run.request) return {};
  auto request =
      prepare_measurement(fit_.plentiful_request(), run.change, folder_ / fmt::format("measured-{}.json", files_++));
  if (!request) return std::unexpected(request.error());
  run.request = fit_.runner.start(std::move(*request));
  return {};
}

Result<void> TechniqueRuns::measure(Rank last) { return measure(find_runs(last)); }

Result<bool> TechniqueRuns::show_last_uses(Rank before) {
  if (before == Rank::kEqual || !has_time()) return false;
  std::vector<Run> runs = find_runs(static_cast<Rank>(static_cast<int>(before) - 1));
  std::erase_if(runs, [](const Run& run) { return run.technique == run.asks; });
  if (runs.empty()) return false;
  if (auto measured = measure(std::move(runs)); !measured) return std::unexpected(measured.error());
  return true;
}

Result<void> TechniqueRuns::measure_first_needed(Rank last) {
  std::vector<Run> runs = find_runs(last);
  const auto is_needed_now = [&](const Run& run) { return is_needed(*run.asks); };
  if (std::ranges::any_of(runs, is_needed_now))
    std::erase_if(runs, [&](const Run& run) { return !is_needed_now(run); });
  return measure(std::move(runs));
}

Result<void> TechniqueRuns::measure(std::vector<Run> runs) {
  std::map<const Technique*, std::string> obstacles;  // the first of each; "": one of its options can be
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const model::Change& change = runs[i].change;
    measured_.emplace(runs[i].asks->id());
    if (!has_time() && !runs[i].request) continue;
    const std::string what = runs[i].technique->describe(change);
    fit_.progress.update(fmt::format("measuring {} with {} GiB", what, fit_.plenty_gib));
    for (std::size_t next = i; next < std::min(i + 2, runs.size()); ++next) {  // the next one runs beside it
      if (auto begun = begin(runs[next]); !begun) return begun;
    }
    const auto seen = measure_prepared(fit_.runner, *runs[i].request, change, job_);
    if (!seen) return std::unexpected(seen.error());
    ++fit_.result.runs;
    run_.insert(plan::measured_key(change));
    const auto known = obstacles.emplace(runs[i].technique, seen->obstacle).first;
    if (seen->obstacle.empty()) known->second.clear();
  }
  for (const auto& [technique, obstacle] : obstacles) {
    if (!obstacle.empty()) leave_out(technique, obstacle);
  }
  return {};
}

void TechniqueRuns::leave_out(const Technique* technique, const std::string& obstacle) {
  if (std::erase(techniques_, technique) == 0) return;  // only a witness, which the user does not want himself
  const auto row = std::ranges::find(fit_.result.techniques, technique->id(), &model::TechniqueRow::id);
  row->standing = "not_possible";
  row->reason = obstacle;
}

}  // namespace vramfit::app
