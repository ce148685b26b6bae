#include "plan/search/largest_batch.h"

#include <algorithm>
#include <utility>

#include "model/number_text.h"
#include "plan/techniques/registry.h"

namespace vramfit::plan {
namespace {

// The first stride, as a part of the predicted size: where savings are added up, and where the job is played.
constexpr std::int64_t kStridesInGuess = 32, kStridesInPlayedGuess = 96;

// The most samples that one batch of a pass may hold.
std::int64_t most_samples(const model::LoaderFacts& loader) {
  const std::int64_t size = loader.batch_size;
  // A sampler may draw fewer than there are, or more.
  const bool is_all = loader.samples > 0 && size > 0 &&
                      (loader.samples / size == loader.batches || (loader.samples + size - 1) / size == loader.batches);
  if (is_all) return std::max(size, loader.samples);
  // The last batch of a pass may be smaller than the others.
  return std::max(size, size * (loader.batches - 1));
}

class Hunt {
 public:
  Hunt(const model::Job& job, const Target& target, Prover& prover, double budget_seconds, const base::Clock& clock,
       const OnTrial& on_trial)
      : job_(job),
        target_(target),
        player_(job),
        loader_(*model::find_loader(job, model::phase::kTrain)),
        prover_(prover),
        budget_seconds_(budget_seconds),
        clock_(clock),
        on_trial_(on_trial),
        started_ns_(clock.now_ns()),
        most_(most_samples(loader_)),
        fails_(most_ + 1) {}

  LargestBatch run() {
    std::int64_t size = guess();
    std::int64_t stride =
        std::max<std::int64_t>(1, size / (player_.is_sound() ? kStridesInPlayedGuess : kStridesInGuess));
    while (fits_ + 1 < fails_) {
      if (!try_size(size)) return std::move(result_);
      if (fits_ == 0) {
        size = std::max<std::int64_t>(1, fails_ - stride);
      } else if (fails_ > most_) {
        size = std::min(most_, fits_ + stride);
      } else {
        size = fits_ + (fails_ - fits_) / 2;
      }
      stride *= 2;
    }
    result_.is_all_data = fits_ == most_;
    result_.ending = result_.best ? Ending::kCheapestProven : Ending::kNothingFits;
    return std::move(result_);
  }

 private:
  double left() const { return budget_seconds_ - base::seconds_between(started_ns_, clock_.now_ns()); }

  PlanTrial forecast(std::int64_t size) const {
    PlanTrial trial;
    const model::Change change = batch_of(loader_, size);
    Forecast forecast = start_forecast(job_);
    effective_batch().predict(job_, target_, change, forecast);
    const auto played = player_.play(forecast, start_forecast(job_));
    trial.outlook = played ? *played : add_up(job_, forecast);
    trial.plan = {effective_batch().describe(change), {change}};
    trial.candidate.needs = trial.outlook.needs;
    trial.candidate.effect = size == loader_.batch_size ? Effect::kSame : forecast.effect;
    trial.candidate.time_factor = time_factor_of(job_, target_, forecast);
    trial.candidate.changes = 1;
    if (size != loader_.batch_size) trial.consequences = std::move(forecast.consequences);
    return trial;
  }

  // The largest that is predicted to fit.
  std::int64_t guess() const {
    std::int64_t low = 1, high = most_;
    while (low < high) {
      const std::int64_t middle = low + (high - low + 1) / 2;
      if (forecast(middle).outlook.needs <= target_.limit) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  bool end(Ending ending) {
    result_.ending = ending;
    return false;
  }

  // False when there is nothing more to learn.
  bool try_size(std::int64_t size) {
    if (left() <= 0) return end(Ending::kBudgetUsed);
    PlanTrial trial = forecast(size);
    if (on_trial_) on_trial_(trial.plan, trial.outlook, result_.trials.size(), "largest batch");
    auto proof = prover_.prove(trial.plan, left());
    if (!proof) {
      result_.error = proof.error();
      return end(proof.error().code == base::ErrorCode::kInterrupted ? Ending::kInterrupted : Ending::kFailed);
    }
    trial.proof = std::move(*proof);
    const Outcome outcome = trial.proof.outcome;
    result_.trials.push_back(std::move(trial));
    switch (outcome) {
      case Outcome::kFits:
        fits_ = size;
        result_.best = result_.trials.size() - 1;
        return true;
      case Outcome::kOutOfMemory:
      case Outcome::kBorderline:
        fails_ = size;
        return true;
      case Outcome::kTimedOut:
        return end(left() <= 0 ? Ending::kBudgetUsed : Ending::kNothingProven);
      case Outcome::kRefused:
      case Outcome::kFailed:
        break;
    }
    return end(Ending::kNothingProven);
  }

  const model::Job& job_;
  const Target& target_;
  const StreamPlayer player_;
  const model::LoaderFacts& loader_;
  Prover& prover_;
  const double budget_seconds_;
  const base::Clock& clock_;
  const OnTrial& on_trial_;
  const std::int64_t started_ns_;
  const std::int64_t most_;
  std::int64_t fits_ = 0;
  std::int64_t fails_;
  LargestBatch result_;
};

}  // namespace

LargestBatch find_largest_batch(const model::Job& job, const Target& target, Prover& prover, double budget_seconds,
                                const base::Clock& clock, const OnTrial& on_trial) {
  return Hunt(job, target, prover, budget_seconds, clock, on_trial).run();
}

}  // namespace vramfit::plan
