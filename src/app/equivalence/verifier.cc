#include "app/equivalence/verifier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/equivalence/equivalence.h"
#include "app/equivalence/numbers.h"
#include "app/equivalence/schedule.h"
#include "app/equivalence/tensor_distance.h"
#include "ingest/plan_file.h"
#include "plan/promise.h"

namespace vramfit::app {

namespace {

using base::Result;
using model::Change;
using model::Plan;

constexpr std::int64_t kSamplesInMicroBatch = 2;
constexpr std::int64_t kMostMicroBatches = 4;
constexpr int kSamplesWithoutMicroBatches = 2;
constexpr int kForwards = 3;  // of an evaluation
constexpr int kTokens = 16;   // of each text
constexpr int kSide = 128;    // pixels, of each image: four for a network that halves five times
// The runs are compared by their values: they get so much memory that they can't run out. What is not touched is free.
constexpr std::int64_t kCardGib = 512;
// Each of the two runs gets half of the time: with the plan it takes about as long as without.
constexpr double kFirstRunsShare = 0.5;
// After this share of its time the first run takes no more steps. The second run ends at the same step.
constexpr double kStepsShare = 0.6;

std::string why_it_failed(const job::RunOutcome& outcome) {
  const model::RunResult& result = outcome.result;
  if (result.error) return fmt::format("{}: {}", result.error->type, result.error->message);
  return result.oom ? "it ran out of memory" : result.reason;
}

// The sizes that the script and the plan have.
SmallPlan keep_whole(const Plan& plan) {
  SmallPlan whole{plan, {}};
  for (const Change& change : plan.changes) {
    if (change.technique == "split_forward") whole.first.parts = model::find_integer(change, "parts").value_or(0);
    if (plan::accumulates(change)) whole.first.group = *model::find_integer(change, "micro_batch");
  }
  return whole;
}

// A loss that picks so many pixels of a batch, however many there are, picks all of few: whether it is the same over
// parts of a batch would not be seen. Tiles are of an image's own size.
bool takes_few_pixels(const Plan& plan) {
  return std::ranges::none_of(plan.changes, [](const Change& change) {
    return plan::accumulates(change) || change.technique == "split_forward" || change.technique == "tiles";
  });
}

std::vector<std::string> kept_of(const facts::TrainingRecord& record) {
  std::vector<std::string> kept;
  if (record.texts_kept > 0) kept.push_back(fmt::format("{} tokens of each text", record.texts_kept));
  if (!record.images_kept.empty()) kept.push_back(record.images_kept + " pixels of each image");
  return kept;
}

// Records what an evaluation puts out too, for a plan that touches one.
SmallPlan with_outputs(SmallPlan sizes, const Plan& plan) {
  if (plan::find_promise(plan).outputs > 0) sizes.first.outputs = kForwards;
  return sizes;
}

// The steps of the job as it is in a comparison of so many seconds.
job::FirstSteps within(job::FirstSteps first, double seconds) {
  if (std::isfinite(seconds)) first.seconds = kStepsShare * kFirstRunsShare * seconds;
  return first;
}

// With the plan all of them are computed, whatever that takes.
job::FirstSteps with_plan(job::FirstSteps first) {
  first.seconds = 0;
  first.parts = 0;  // the plan makes them
  return first;
}

// With the plan as many steps are computed as without it.
job::FirstSteps steps_taken_of(job::FirstSteps first, const facts::TrainingRecord& without) {
  first = with_plan(first);
  const auto taken = count_steps(without);
  if (const auto own = taken.find(0); own != taken.end()) {
    first.steps = std::min<std::int64_t>(first.steps, own->second);
  }
  return first;
}

std::string tell_without(const job::FirstSteps& first, const Plan& plan) {
  return fmt::format("computing {} steps without {}", first.steps, plan.name);
}

// A loss over pairs or triplets of a batch, of which a few samples have none: 0, or a mean of nothing.
bool is_of_too_few_samples(const facts::TrainingRecord& without, const model::Equivalence& found, const Plan& plan) {
  const bool is_still = !without.steps.empty() && are_zero(without.updates) && are_zero(without.gradients);
  if (is_still || !find_not_finite(without).empty()) return true;
  return found.sameness == model::Sameness::kNotANumber && std::ranges::any_of(plan.changes, plan::accumulates);
}

}  // namespace

SmallPlan shrink(const Plan& plan) {
  SmallPlan small{plan, {}};
  small.first.samples = kSamplesWithoutMicroBatches;
  small.first.tokens = kTokens;
  small.first.side = takes_few_pixels(plan) ? kSide : 0;
  for (Change& change : small.plan.changes) {
    if (change.technique == "split_forward") {
      const auto parts = std::min(model::find_integer(change, "parts").value_or(1), kMostMicroBatches);
      change.settings["parts"] = parts;
      small.first.samples = kSamplesInMicroBatch * parts;
      small.first.parts = parts;
    }
    if (!plan::accumulates(change)) continue;
    const auto size = std::min(model::find_integer(change, "micro_batch").value_or(1), kSamplesInMicroBatch);
    const auto count = std::min(*model::find_integer(change, "accumulate"), kMostMicroBatches);
    change.settings["micro_batch"] = size;
    change.settings["accumulate"] = count;
    small.first.samples = size * count;
    small.first.group = size;
  }
  return small;
}

Verifier::Verifier(job::RunRequest request, std::filesystem::path folder, job::Runner& runner, const base::Clock& clock)
    : request_(std::move(request)), folder_(std::move(folder)), runner_(runner), clock_(clock) {
  request_.values = job::Values::kCpu;
  request_.retry = {};
  request_.steps = "all";
  request_.quiet_child = true;
  request_.plan.reset();
  for (job::CardChoice& card : request_.cards) {
    card.total = std::max(base::Bytes::gib(kCardGib), card.total.value_or(card.card.memory));
  }
}

double Verifier::left() const { return std::max(0.0, seconds_ - base::seconds_between(started_ns_, clock_.now_ns())); }

job::RunRequest Verifier::request_of(const job::FirstSteps& first, double seconds) const {
  job::RunRequest request = request_;
  request.first_steps = first;
  request.tells_lines = false;
  if (std::isfinite(seconds)) (request.patient_seconds ? request.patient_seconds : request.whole_seconds) = seconds;
  return request;
}

Result<void> Verifier::give(const Plan& plan, job::RunRequest& request) {
  request.plan = folder_ / fmt::format("verified-{}.json", plan_files_++);
  return ingest::write_plan(*request.plan, plan);
}

Result<Verifier::Attempt> Verifier::run(const job::RunRequest& request) {
  ++runs_;
  const auto outcome = runner_.run(request, base::silent_progress());
  if (!outcome) return std::unexpected(outcome.error());
  if (outcome->result.interrupted) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
  untested_ = outcome->result.untested;
  Attempt attempt;
  attempt.record = outcome->facts->training;
  attempt.kept = kept_of(attempt.record);
  if (!outcome->result.plan_refused.empty()) {
    attempt.refused = true;
    attempt.obstacle = outcome->result.plan_refused.front();
  } else if (outcome->result.timed_out) {
    const auto limit = request.patient_seconds ? request.patient_seconds : request.whole_seconds;
    attempt.obstacle = fmt::format("computing {} steps on the CPU takes longer than {:.0f} s",
                                   request.first_steps->steps, limit.value_or(outcome->result.wall_seconds));
  } else if (outcome->result.exit_code != 0 || outcome->result.verdict == model::Verdict::kFailed) {
    attempt.obstacle = why_it_failed(*outcome);
    attempt.may_help_whole = true;
  }
  return attempt;
}

Result<Verifier::Attempt> Verifier::run_as_is(const job::FirstSteps& first, double seconds) {
  for (const auto& [known, attempt] : as_is_) {
    if (known == first) return attempt;
  }
  // What was begun for other first steps goes with the runner.
  std::optional<job::RunRequest> begun = std::exchange(begun_, std::nullopt);
  if (!begun || begun->first_steps != first) begun = request_of(first, seconds);
  auto attempt = run(*begun);
  if (attempt) as_is_.emplace_back(first, *attempt);
  return attempt;
}

Result<Verifier::Attempt> Verifier::run_with(const SmallPlan& small, const job::FirstSteps& first) {
  const auto begun = std::exchange(begun_with_, std::nullopt);
  if (begun && begun->plan == small.plan && begun->request.first_steps == first) return run(begun->request);
  job::RunRequest request = request_of(first, left());
  if (auto given = give(small.plan, request); !given) return std::unexpected(given.error());
  return run(request);
}

void Verifier::begin(const Plan& plan, double seconds) {
  const SmallPlan small = with_outputs(shrink(plan), plan);
  const job::FirstSteps first = within(small.first, seconds);
  const auto known = std::ranges::find(as_is_, first, &decltype(as_is_)::value_type::first);
  if (known == as_is_.end() && !begun_) {
    job::RunRequest begun = runner_.start(request_of(first, kFirstRunsShare * seconds));
    if (begun.begun != 0) begun_ = std::move(begun);
  }
  if (known != as_is_.end() && !known->second.obstacle.empty()) return;
  // Where the job as it is turns out to take fewer steps, `compare` makes the other run once more.
  start_with(small, known == as_is_.end() ? with_plan(first) : steps_taken_of(first, known->second.record), seconds);
}

void Verifier::start_with(const SmallPlan& small, const job::FirstSteps& first, double seconds) {
  if (begun_with_ && begun_with_->plan == small.plan && begun_with_->request.first_steps == first) return;
  job::RunRequest request = request_of(first, seconds);
  if (!give(small.plan, request)) return;
  request = runner_.start(std::move(request));
  if (request.begun != 0) begun_with_ = BegunWith{small.plan, std::move(request)};
}

void Verifier::begin_with(const Plan& plan, double seconds, const std::function<void(std::string_view)>& say) {
  const SmallPlan small = with_outputs(shrink(plan), plan);
  const job::FirstSteps first = within(small.first, seconds);
  say(tell_without(first, plan));
  const auto without = run_as_is(first, kFirstRunsShare * seconds);
  if (!without || !without->obstacle.empty()) return;  // `compare` tells
  start_with(small, steps_taken_of(first, without->record), seconds);
}

Result<Verified> Verifier::compare_once(const SmallPlan& small, const Plan& plan,
                                        const std::function<void(std::string_view)>& say) {
  may_help_whole_ = false;
  job::FirstSteps first = within(small.first, seconds_);
  say(tell_without(first, plan));
  const auto without = run_as_is(first, kFirstRunsShare * left());
  if (!without) return std::unexpected(without.error());
  note(*without);
  if (!without->obstacle.empty()) {
    return Verified{not_compared("the job as it is, with values computed: " + without->obstacle), false};
  }
  first = steps_taken_of(first, without->record);
  say(fmt::format("computing {} steps with {}", first.steps, plan.name));
  const auto with = run_with(small, first);
  if (!with) return std::unexpected(with.error());
  note(*with);
  const plan::Promise promise = plan::find_promise(plan);
  if (!with->obstacle.empty()) {
    const std::string why = (with->refused ? "" : "with the plan, values computed: ") + with->obstacle;
    const bool is_meant = !promise.meant.empty();
    return Verified{is_meant ? trains_otherwise(promise.meant, "; " + why) : not_compared(why), with->refused};
  }
  const model::Equivalence found = compare_runs(without->record, with->record, promise);
  const bool saw_others = is_failed(found) && !saw_the_same(without->record, with->record, promise);
  may_help_whole_ = saw_others || (with->record.steps.empty() && with->record.outputs.empty()) ||
                    is_of_too_few_samples(without->record, found, plan);
  return Verified{found, false};
}

void Verifier::note(const Attempt& attempt) {
  if (!attempt.kept.empty()) kept_ = attempt.kept;
  may_help_whole_ |= attempt.may_help_whole;
}

Result<Verified> Verifier::compare(const Plan& plan, double seconds, const std::function<void(std::string_view)>& say) {
  started_ns_ = clock_.now_ns();
  seconds_ = seconds;
  SmallPlan sizes = with_outputs(shrink(plan), plan);
  kept_.clear();
  auto small = compare_once(sizes, plan, say);
  if (!kept_.empty()) {
    if (small && !may_help_whole_) {
      small->equivalence.text += fmt::format(" (over {})", fmt::join(kept_, ", "));
      return small;
    }
    if (!small || small->refused) return small;
    // It may be their length, or their size, that the script does not work with.
    sizes.first.tokens = sizes.first.side = 0;
    small = compare_once(sizes, plan, say);
  }
  if (!small || !may_help_whole_ || small->refused) return small;
  return compare_once(with_outputs(keep_whole(plan), plan), plan, say);
}

}  // namespace vramfit::app
