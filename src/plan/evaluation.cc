#include "plan/evaluation.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/number_text.h"

namespace vramfit::plan {
namespace {

// A run that comes this near to the card's limit is not sure to fit (verdict "borderline").
constexpr double kSure = 0.9;

double share(Bytes with, Bytes without) {
  return without > Bytes(0) ? static_cast<double>(with.count()) / static_cast<double>(without.count()) : 1;
}

const model::StagePeak* find_same(const std::vector<model::StagePeak>& moments, const model::StagePeak& moment) {
  const auto found = std::ranges::find_if(moments, [&](const model::StagePeak& other) {
    return other.phase == moment.phase && other.stage == moment.stage;
  });
  return found == moments.end() ? nullptr : &*found;
}

}  // namespace

const model::LoaderFacts* find_evaluation_loader(const model::Job& job) {
  const model::LoaderFacts* loader = model::find_loader(job, model::phase::kValidate);
  return loader != nullptr ? loader : model::find_loader(job, model::phase::kTest);
}

bool is_evaluation(const model::StagePeak& moment) { return model::is_evaluation(moment.phase); }

bool trains(const model::Job& job) {
  return job.optimizer.has_value() || model::find_phase(job, model::phase::kTrain) != nullptr;
}

Bytes evaluation_needs(const model::Job& job) {
  Bytes most;
  for (const model::StagePeak& moment : job.stage_peaks) {
    if (is_evaluation(moment)) most = std::max(most, model::sum(moment.holdings) + job.overhead);
  }
  return most;
}

Applicability check_evaluation(const model::Job& job, const Target& target) {
  const Bytes needs = evaluation_needs(job);
  if (needs == Bytes(0)) return not_possible("the script does not evaluate");
  if (needs <= scaled(target.limit, kSure)) {
    return not_possible(
        fmt::format("evaluation needs {} of {}: it is not what runs out", to_string(needs), to_string(target.limit)));
  }
  return applicable();
}

Applicability check_evaluation_alone(const model::Job& job, const Target& target) {
  if (job.optimizer)
    return not_possible("the script trains (" + job.optimizer->class_name + "): weights stay as they are");
  if (trains(job)) return not_possible("the script trains: weights stay as they are");
  return check_evaluation(job, target);
}

void scale_holdings(model::Holdings& holdings, const HoldingShares& shares) {
  holdings.weights = scaled(holdings.weights, shares.weights);
  holdings.buffers = scaled(holdings.buffers, shares.buffers);
  holdings.activations = scaled(holdings.activations, shares.activations);
  holdings.workspaces = scaled(holdings.workspaces, shares.workspaces);
  holdings.temporaries = scaled(holdings.temporaries, shares.temporaries);
}

HoldingShares measured_shares(const model::Job& job, std::string_view key, const model::StagePeak& moment,
                              const HoldingShares& assumed) {
  const auto measured = job.measured.find(std::string(key));
  if (measured == job.measured.end()) return assumed;
  const model::StagePeak* before = find_same(job.stage_peaks, moment);
  const model::StagePeak* after = find_same(measured->second, moment);
  if (before == nullptr || after == nullptr) return assumed;
  const model::Holdings &without = before->holdings, &with = after->holdings;
  return {share(with.weights, without.weights), share(with.buffers, without.buffers),
          share(with.activations, without.activations), share(with.workspaces, without.workspaces),
          share(with.temporaries, without.temporaries)};
}

bool is_measured(const model::Job& job, std::string_view key) { return job.measured.contains(std::string(key)); }

}  // namespace vramfit::plan
