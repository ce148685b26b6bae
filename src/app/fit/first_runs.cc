#include "app/fit/first_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "facts/job_builder.h"
#include "job/assemble.h"

namespace vramfit::app {
namespace {

using base::Bytes;
using base::Result;
using model::FitGoal;
using model::FitVerdict;

// The card with plenty has so much at the second try, where the first ran out: networks of hundreds of billions of
// parameters.
constexpr std::int64_t kUtmostGib = 16384;
// If the user did not say how long a search may take, a run beyond the first batches gets this share of the time left.
constexpr double kRunOnShare = 0.4;
constexpr double kShortestRunOn = 1;  // seconds that show more than the first batches

std::string why_it_failed(const model::RunResult& run) {
  if (!run.error) return run.reason;
  const std::string& message = run.error->message;  // StopIteration has none
  return run.error->type + (message.empty() ? "" : ": " + message) +
         (run.error->remedy.empty() ? "" : " (try: " + run.error->remedy + ")");
}

job::RunRequest in_full(const FitContext& fit, const job::RunRequest& request) {
  return fit.span.in_full(request, fit.request.budget_is_firm ? fit.left() : kRunOnShare * fit.left());
}

bool shows_more(const job::RunRequest& in_full) {
  return in_full.span.count > 0 || in_full.span.seconds >= kShortestRunOn;
}

// Runs the job over more batches if that may show more, and puts what both runs showed into `outcome`.
Result<void> run_on(FitContext& fit, const job::RunRequest& request, job::RunOutcome& outcome) {
  const auto begun = std::exchange(fit.begun_in_full, std::nullopt);
  const job::RunRequest in_full = begun ? *begun : app::in_full(fit, request);
  if (!fit.span.is_worth_it(outcome) || !shows_more(in_full)) return {};
  fit.progress.update("running it on, to see more than its first batches");
  auto longer = fit.runner.run(in_full, fit.progress);
  if (!longer) return std::unexpected(longer.error());
  ++fit.result.runs;
  outcome = fit.span.join(std::move(outcome), std::move(*longer));
  return {};
}

Result<job::RunOutcome> run_with_plenty(FitContext& fit) {
  fit.progress.update(fmt::format("running it on the same card with {} GiB, to see the whole of it", fit.plenty_gib));
  ++fit.result.runs;
  fit.begun_in_full.reset();
  job::RunRequest request = std::exchange(fit.begun_free, std::nullopt).value_or(fit.plentiful_request());
  // The run over more batches would have to be made again as well: it need not wait for the short one.
  request.before_retry = [&fit](const job::RetryOptions& retry) {
    job::RunRequest longer = in_full(fit, fit.plentiful_request());
    longer.retry = retry;
    if (fit.span.is_asked_for() && shows_more(longer)) fit.begun_in_full = fit.runner.start(std::move(longer));
  };
  return fit.runner.run(request, fit.progress);
}

// The job missed by less than the uncertainty of the context's size, but with plenty of memory it took even more.
void settle_as_is(FitContext& fit, const model::RunResult& free) {
  model::RunResult& as_is = fit.result.as_is;
  if (as_is.verdict != model::Verdict::kBorderline || !as_is.oom) return;
  const model::DeviceResult* wants = model::fullest(free);
  if (wants == nullptr || wants->peaks.device <= fit.target.limit + wants->context_uncertainty) return;
  as_is.verdict = model::Verdict::kOutOfMemory;
  as_is.reason.clear();
}

// With plenty of memory the fullest card is not always the one that lacks most: the cards asked for may differ in size.
void look_at_shortest_card(FitContext& fit, model::RunResult& free) {
  std::optional<Bytes> most;
  for (const model::DeviceResult& device : free.devices) {
    const auto index = static_cast<std::size_t>(device.index);
    if (index >= fit.request.run.cards.size()) continue;
    const Bytes lacking = device.peaks.device - limit_of(fit.request.run.cards[index]);
    if (most && lacking <= *most) continue;
    most = lacking;
    free.peak_device = device.index;
  }
  Bytes highest;  // of what tensors hold: what a phase reserves stays reserved in later phases, and would be counted
                  // there
  for (const model::PhaseResult& phase : free.phases) {
    if (phase.device != free.peak_device || phase.peaks.allocated <= highest) continue;
    highest = phase.peaks.allocated;
    free.peak_phase = phase.name;
  }
  fit.aim_at(free.peak_device);
}

// The run was on a card with plenty of memory, and what grows fills that one late. When it fills the card that was
// asked for is worked out here; where the job does not fit there to begin with, nothing is said of it.
void judge_growth_on_the_card(const FitContext& fit, model::RunResult& free) {
  for (model::Growth& growth : free.evidence.growth) {
    if (!growth.runs_out_at) continue;
    const auto device = std::ranges::find(free.devices, growth.device, &model::DeviceResult::index);
    growth.runs_out_at.reset();
    if (device != free.devices.end() && device->peaks.device < fit.target.limit) {
      growth.runs_out_at = job::find_end_on(growth, *device, fit.target.limit);
    }
  }
  job::tell_growth(free);
}

}  // namespace

bool is_card_too_small(FitContext& fit) {
  for (const job::CardChoice& choice : fit.request.run.cards) {
    if (fit.request.run.context || choice.card.overhead.empty()) continue;
    Bytes least = Bytes::gib(1);
    for (const auto& [major, overhead] : choice.card.overhead) least = std::min(least, overhead.context_lazy);
    if (limit_of(choice) > least) continue;
    fit.conclude(FitVerdict::kNothingFits,
                 fmt::format("PyTorch's CUDA context alone takes {} of a {}, so that no job runs", to_string(least),
                             choice.card.name));
    return true;
  }
  return false;
}

Result<bool> run_as_is(FitContext& fit) {
  fit.progress.update(fmt::format("running the job as it is on {}", fit.result.card));
  job::RunRequest request = fit.quiet_request();
  request.settles_borderline = false;                          // what it wants a moment later the run with plenty shows
  fit.begun_free = fit.runner.start(fit.plentiful_request());  // neither waits for the other's answer
  auto outcome = fit.runner.run(request, fit.progress);
  if (!outcome) return std::unexpected(outcome.error());
  ++fit.result.runs;
  if (auto longer = run_on(fit, fit.quiet_request(), *outcome); !longer) return std::unexpected(longer.error());
  fit.result.as_is = std::move(outcome->result);
  if (fit.result.as_is.interrupted) return fit.conclude(FitVerdict::kInterrupted, "");
  if (fit.is_out_of_time(fit.result.as_is))
    return fit.conclude(FitVerdict::kOutOfTime, "the job as it is had not ended by then");
  switch (fit.result.as_is.verdict) {
    case model::Verdict::kFits:
      return fit.request.goal != FitGoal::kSameTraining || fit.conclude(FitVerdict::kFitsAlready, "");
    case model::Verdict::kFailed:
      if (fit.result.as_is.oom)
        break;  // the script caught it and failed later; a run with plenty of memory shows whether it fails anyway
      [[fallthrough]];
    case model::Verdict::kNoCard:
      return fit.conclude(FitVerdict::kJobFailed, why_it_failed(fit.result.as_is));
    case model::Verdict::kBorderline:
    case model::Verdict::kOutOfMemory:
      break;
  }
  return true;
}

Result<std::optional<model::Job>> run_free(FitContext& fit) {
  auto outcome = run_with_plenty(fit);
  if (outcome && outcome->result.verdict == model::Verdict::kOutOfMemory) {
    fit.plenty_gib = kUtmostGib;
    outcome = run_with_plenty(fit);
  }
  if (!outcome) return std::unexpected(outcome.error());
  if (auto longer = run_on(fit, fit.plentiful_request(), *outcome); !longer) return std::unexpected(longer.error());
  model::RunResult& free = outcome->result;
  if (free.interrupted) {
    fit.conclude(FitVerdict::kInterrupted, "");
    return std::nullopt;
  }
  if (fit.is_out_of_time(free)) {
    fit.conclude(FitVerdict::kOutOfTime, "the job on a card with plenty had not ended by then");
    return std::nullopt;
  }
  if (free.verdict != model::Verdict::kFits && free.verdict != model::Verdict::kBorderline) {
    fit.conclude(FitVerdict::kJobFailed,
                 fmt::format("with {} GiB of memory it ends badly too: {}", fit.plenty_gib, why_it_failed(free)));
    return std::nullopt;
  }
  judge_growth_on_the_card(fit, free);
  look_at_shortest_card(fit, free);
  settle_as_is(fit, free);
  model::Job job = facts::build_job(*outcome->facts, free);
  if (fit.result.as_is.oom) {
    const model::DeviceResult* device = model::fullest(fit.result.as_is);
    const model::Peaks peaks = device != nullptr ? device->peaks : model::Peaks{};
    job.oom =
        model::OomFacts{fit.result.as_is.oom->phase, fit.result.as_is.oom->tried, peaks.allocated, peaks.reserved};
    // Memory that was reserved and idle when the job ran out. Peaks are of other moments and do not tell it.
    if (const auto& oom = fit.result.as_is.evidence.oom) {
      job.oom->allocated = oom->allocated;
      job.oom->reserved = oom->reserved;
    }
  }
  fit.result.free_run = std::move(outcome->result);
  fit.stretch_budget();
  return job;
}

}  // namespace vramfit::app
