#include "app/fit/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>

#include "app/fit/answer.h"
#include "app/fit/equivalence.h"
#include "app/fit/kept_proofs.h"
#include "app/fit/measurement.h"
#include "app/fit/patient_clock.h"
#include "app/fit/prover.h"
#include "app/fit/request.h"
#include "app/fit/span.h"
#include "app/fit/summary.h"
#include "app/verify.h"
#include "base/interrupt.h"
#include "facts/job_builder.h"
#include "job/run_on.h"
#include "job/session.h"
#include "plan/advice.h"
#include "plan/cause.h"
#include "plan/floor_proof.h"
#include "plan/hardware.h"
#include "plan/search/largest_batch.h"
#include "plan/search/search.h"
#include "plan/several_cards.h"
#include "plan/techniques/registry.h"

namespace vramfit::app {
namespace {

using base::Bytes;
using base::ErrorCode;
using base::Result;
using model::FitGoal;
using model::FitResult;
using model::FitVerdict;
using model::PlanRow;

// Far beyond any card, and free: memory of a virtual card that nothing touches takes no host memory.
constexpr std::int64_t kFreeRunGib = 512;
// Where even that is too little: networks of hundreds of billions of parameters.
constexpr std::int64_t kUtmostGib = 16384;

// A candidate's time limit: these seconds, and so many times what the free run took.
constexpr double kShortestLimit = 10;
constexpr double kLimitFactor = 3;
// A search makes about this many runs before it has its answer and a few more to choose from.
constexpr double kBudgetInRuns = 15;
// A run that goes on beyond the training loop takes longer than one that ends when memory is steady.
constexpr double kConfirmFactor = 1.5;
// Of the time left, the most that one measuring run may take.
constexpr double kMeasuringShare = 0.12;
// Of the time left, that runs beyond the first batches are given their share of where nobody said how long a search may
// take.
constexpr double kRunOnShare = 0.4;
constexpr double kShortestRunOn = 1;  // seconds that show more than the first batches
// The comparison of the best plan with the job as it is, whose steps the CPU computes: this share of the time left, and
// seconds within these bounds. A firm budget is kept.
constexpr double kShortestComparison = 15;
constexpr double kLongestComparison = 60;
constexpr double kComparisonShare = 0.5;

const std::string kAfterLoop = "after its training loop: ";

bool contains(const std::vector<std::string>& list, std::string_view id) {
  return std::ranges::find(list, id) != list.end();
}

// What both runs of a plan took at their most.
model::Peaks raised(const model::Peaks& peaks, const plan::Proof& proof) {
  return {std::max(peaks.allocated, proof.peak_allocated), std::max(peaks.reserved, proof.peak_reserved),
          std::max(peaks.device, proof.peak_device)};
}

std::string why_it_failed(const model::RunResult& run) {
  if (!run.error) return run.reason;
  const std::string& message = run.error->message;  // StopIteration has none
  return run.error->type + (message.empty() ? "" : ": " + message) +
         (run.error->remedy.empty() ? "" : " (try: " + run.error->remedy + ")");
}

// One fit from start to end; holds what its steps share.
class Fit {
 public:
  Fit(const FitRequest& request, job::Runner& runner, base::ProgressSink& progress, const base::Clock& clock)
      : request_(request),
        progress_(progress),
        clock_(clock),
        runner_(runner, clock_, !request.budget_is_firm),
        started_ns_(clock.now_ns()),
        span_(job::span_of(request.run)) {
    target_.keep_effective_batch = request.keep_effective_batch && request.goal != FitGoal::kMaxBatch;
    target_.accept = request.accept;
    target_.max_slowdown = request.max_slowdown;
    if (request.goal == FitGoal::kMinTime) target_.goal = plan::Goal::kMinTime;
    if (request.goal == FitGoal::kMinMemory) target_.goal = plan::Goal::kMinMemory;
    result_.goal = request.goal;
    result_.cards = static_cast<int>(request.run.cards.size());
    result_.budget_seconds = request.budget_seconds;
    aim_at(0);
  }

  // A Ctrl-C is an answer: what was found by then.
  Result<FitResult> run() {
    auto searched = run_all();
    if (searched || searched.error().code != ErrorCode::kInterrupted) return searched;
    conclude(FitVerdict::kInterrupted, "");
    return finish();
  }

 private:
  Result<FitResult> run_all() {
    if (is_card_too_small()) return finish();
    auto as_is = run_as_is();
    if (!as_is) return std::unexpected(as_is.error());
    if (!*as_is) return finish();
    auto job = run_free();
    if (!job) return std::unexpected(job.error());
    if (!*job) return finish();
    if (request_.goal == FitGoal::kMaxBatch) {
      if (auto found = find_batch(**job); !found) return std::unexpected(found.error());
      return finish();
    }
    if (!is_search_of_use(**job)) return finish();
    if (auto searched = search_plans(**job); !searched) return std::unexpected(searched.error());
    look_at_hardware(**job);
    advise(**job);
    return finish();
  }

  double elapsed() const { return base::seconds_between(started_ns_, clock_.now_ns()); }
  double left() const { return std::max(0.0, result_.budget_seconds - elapsed()); }

  // Seconds mean different things to different machines: unless the user said how many, a search gets what its runs
  // take here.
  void stretch_budget() {
    if (request_.budget_is_firm) return;
    result_.budget_seconds =
        std::max(request_.budget_seconds, elapsed() + kBudgetInRuns * result_.free_run->wall_seconds) +
        kConfirmFactor * span_.answer_seconds();
  }

  static Bytes limit_of(const job::CardChoice& card) { return card.total.value_or(card.card.memory); }

  // Predictions are for one card: that which is shortest of memory.
  void aim_at(int card) {
    const job::CardChoice& choice = request_.run.cards[static_cast<std::size_t>(card)];
    target_.card = choice.card;
    target_.limit = limit_of(choice);
    result_.card = choice.card.name;
    result_.card_index = card;
    result_.limit = target_.limit;
  }

  FitResult finish() {
    progress_.clear();
    result_.was_interrupted |= base::was_interrupted();
    if (result_.was_interrupted) result_.cheapest_known = false;
    result_.seconds = elapsed() + clock_.forgiven();  // as people's clocks show it
    return std::move(result_);
  }

  job::RunRequest quiet_request() const {
    job::RunRequest request = request_.run;
    request.plan.reset();
    request.quiet_child = true;
    if (request.steps == "auto") request.steps = "quick";  // ends as soon as memory is steady
    request.span = {};
    if (request_.budget_is_firm || result_.free_run) request.whole_seconds = left();
    return request;
  }

  // Smaller than its context: no job of PyTorch begins there.
  bool is_card_too_small() {
    for (const job::CardChoice& choice : request_.run.cards) {
      if (request_.run.context || choice.card.overhead.empty()) continue;
      Bytes least = Bytes::gib(1);
      for (const auto& [major, overhead] : choice.card.overhead) least = std::min(least, overhead.context_lazy);
      if (limit_of(choice) > least) continue;
      conclude(FitVerdict::kNothingFits,
               fmt::format("PyTorch's CUDA context alone takes {} of a {}, so that no job runs", to_string(least),
                           choice.card.name));
      return true;
    }
    return false;
  }

  // True when there is something to do: the job ran out of memory.
  Result<bool> run_as_is() {
    progress_.update(fmt::format("running the job as it is on {}", result_.card));
    job::RunRequest request = quiet_request();
    request.settles_borderline = false;  // what it wants a moment later the run with plenty shows
    auto outcome = runner_.run(request, progress_);
    if (!outcome) return std::unexpected(outcome.error());
    ++result_.runs;
    if (auto longer = run_on(quiet_request(), *outcome); !longer) return std::unexpected(longer.error());
    result_.as_is = std::move(outcome->result);
    if (result_.as_is.interrupted) return conclude(FitVerdict::kInterrupted, "");
    if (is_out_of_time(result_.as_is))
      return conclude(FitVerdict::kOutOfTime, "the job as it is had not ended by then");
    switch (result_.as_is.verdict) {
      case model::Verdict::kFits:
        return request_.goal != FitGoal::kSameTraining || conclude(FitVerdict::kFitsAlready, "");
      case model::Verdict::kFailed:
        if (result_.as_is.oom)
          break;  // what it did then went wrong; with plenty of memory it shows whether that is all
        [[fallthrough]];
      case model::Verdict::kNoCard:
        return conclude(FitVerdict::kJobFailed, why_it_failed(result_.as_is));
      case model::Verdict::kBorderline:
      case model::Verdict::kOutOfMemory:
        break;
    }
    return true;
  }

  // Goes on in full where that may show more, and leaves in `outcome` what both showed.
  Result<void> run_on(const job::RunRequest& request, job::RunOutcome& outcome) {
    const double time = request_.budget_is_firm ? left() : kRunOnShare * left();
    const job::RunRequest in_full = span_.in_full(request, time);
    if (!span_.is_worth_it(outcome) || (in_full.span.count == 0 && in_full.span.seconds < kShortestRunOn)) return {};
    progress_.update("running it on, to see more than its first batches");
    auto longer = runner_.run(in_full, progress_);
    if (!longer) return std::unexpected(longer.error());
    ++result_.runs;
    outcome = span_.join(std::move(outcome), std::move(*longer));
    return {};
  }

  bool is_out_of_time(const model::RunResult& run) const {
    return request_.budget_is_firm && run.timed_out && left() <= 0;
  }

  bool conclude(FitVerdict verdict, std::string reason) {
    result_.verdict = verdict;
    result_.reason = std::move(reason);
    return false;
  }

  job::RunRequest plentiful_request() const {
    job::RunRequest request = quiet_request();
    for (job::CardChoice& card : request.cards) card.total = std::max(Bytes::gib(plenty_gib_), limit_of(card));
    return request;
  }

  Result<job::RunOutcome> run_with_plenty() {
    progress_.update(fmt::format("running it on the same card with {} GiB, to see the whole of it", plenty_gib_));
    ++result_.runs;
    return runner_.run(plentiful_request(), progress_);
  }

  // The job's facts, from a run that memory does not stop; nothing when even that run did not work.
  Result<std::optional<model::Job>> run_free() {
    auto outcome = run_with_plenty();
    if (outcome && outcome->result.verdict == model::Verdict::kOutOfMemory) {
      plenty_gib_ = kUtmostGib;
      outcome = run_with_plenty();
    }
    if (!outcome) return std::unexpected(outcome.error());
    if (auto longer = run_on(plentiful_request(), *outcome); !longer) return std::unexpected(longer.error());
    model::RunResult& free = outcome->result;
    if (free.interrupted) {
      conclude(FitVerdict::kInterrupted, "");
      return std::nullopt;
    }
    if (is_out_of_time(free)) {
      conclude(FitVerdict::kOutOfTime, "the job on a card with plenty had not ended by then");
      return std::nullopt;
    }
    if (free.verdict != model::Verdict::kFits && free.verdict != model::Verdict::kBorderline) {
      conclude(FitVerdict::kJobFailed,
               fmt::format("with {} GiB of memory it ends badly too: {}", plenty_gib_, why_it_failed(free)));
      return std::nullopt;
    }
    look_at_shortest_card(free);
    settle_as_is(free);
    model::Job job = facts::build_job(*outcome->facts, free);
    if (result_.as_is.oom) {
      const model::DeviceResult* device = model::fullest(result_.as_is);
      const model::Peaks peaks = device != nullptr ? device->peaks : model::Peaks{};
      job.oom = model::OomFacts{result_.as_is.oom->phase, result_.as_is.oom->tried, peaks.allocated, peaks.reserved};
      // What was idle when memory ran out, which the peaks, of other moments, do not tell.
      if (const auto& moment = result_.as_is.evidence.oom) {
        job.oom->allocated = moment->allocated;
        job.oom->reserved = moment->reserved;
      }
    }
    result_.free_run = std::move(outcome->result);
    stretch_budget();
    return job;
  }

  // It missed by less than the uncertainty of the context's size: with plenty it took more than that would have given.
  void settle_as_is(const model::RunResult& free) {
    model::RunResult& as_is = result_.as_is;
    if (as_is.verdict != model::Verdict::kBorderline || !as_is.oom) return;
    const model::DeviceResult* wants = model::fullest(free);
    if (wants == nullptr || wants->peaks.device <= target_.limit + wants->context_uncertainty) return;
    as_is.verdict = model::Verdict::kOutOfMemory;
    as_is.reason.clear();
  }

  // With plenty everywhere the fullest card is not always the one that lacks most: cards may differ in size.
  void look_at_shortest_card(model::RunResult& free) {
    std::optional<Bytes> most;
    for (const model::DeviceResult& device : free.devices) {
      const auto index = static_cast<std::size_t>(device.index);
      if (index >= request_.run.cards.size()) continue;
      const Bytes lacking = device.peaks.device - limit_of(request_.run.cards[index]);
      if (most && lacking <= *most) continue;
      most = lacking;
      free.peak_device = device.index;
    }
    Bytes highest;  // by tensors: what one phase has reserved stays reserved in those after it
    for (const model::PhaseResult& phase : free.phases) {
      if (phase.device != free.peak_device || phase.peaks.allocated <= highest) continue;
      highest = phase.peaks.allocated;
      free.peak_phase = phase.name;
    }
    aim_at(free.peak_device);
  }

  // Where the script itself is at fault and nothing around it can mend that, a search would only take time.
  bool is_search_of_use(const model::Job& job) {
    result_.cause = plan::find_cause(job, target_.limit);
    if (!result_.cause || !result_.cause->is_all) return true;
    for (const plan::Technique* technique : plan::all_techniques()) {
      const bool wanted = request_.only.empty() || contains(request_.only, technique->id());
      if (!wanted || contains(request_.deny, technique->id()) || !technique->mends_cause(job)) continue;
      if (technique->applies_to(job, target_).standing == plan::Standing::kApplicable) return true;
    }
    return conclude(FitVerdict::kNeedsEdit, "");
  }

  // What the mildest of its options does to the training.
  plan::Effect least_effect(const plan::Technique& technique, const model::Job& job) const {
    plan::Effect least = plan::Effect::kNetwork;
    for (const model::Change& change : technique.options(job, target_)) {
      plan::Forecast forecast = plan::start_forecast(job);
      technique.predict(job, target_, change, forecast);
      least = std::min(least, forecast.effect);
    }
    return least;
  }

  static bool acts_in_any(const plan::Technique& technique, const std::vector<std::string>& phases) {
    const plan::ActsIn acts_in = technique.acts_in();
    if (phases.empty() || acts_in == plan::ActsIn::kAnyPhase) return true;
    return std::ranges::any_of(
        phases, [&](const std::string& phase) { return (phase == "train") == (acts_in == plan::ActsIn::kTraining); });
  }

  std::vector<const plan::Technique*> choose_techniques(const model::Job& job) {
    std::vector<const plan::Technique*> chosen;
    for (const plan::Technique* technique : plan::all_techniques()) {
      model::TechniqueRow row{std::string(technique->id()), "applicable", ""};
      const bool wanted = request_.only.empty() || contains(request_.only, technique->id());
      const plan::Applicability applicability = technique->applies_to(job, target_);
      row.reason = applicability.reason;
      if (!wanted || contains(request_.deny, technique->id())) {
        row.standing = "denied";
        row.reason = wanted ? "--deny" : "not among --only";
      } else if (!acts_in_any(*technique, request_.phases)) {
        row.standing = "denied";
        row.reason = fmt::format("--phase: it changes nothing in {}", fmt::join(request_.phases, ", "));
      } else if (applicability.standing == plan::Standing::kInForce) {
        row.standing = "in_force";
      } else if (applicability.standing == plan::Standing::kNotPossible) {
        row.standing = "not_possible";
      } else if (const plan::Effect least = least_effect(*technique, job); plan::tier_of(least) > target_.accept) {
        row.standing = "denied";
        row.reason = fmt::format("--accept: it changes more than that ({})", name(least));
      } else {
        chosen.push_back(technique);
      }
      result_.techniques.push_back(std::move(row));
    }
    return chosen;
  }

  // Whether a plan that takes nothing from the training but rounding is foreseen among techniques that need no run of
  // their own: others would come after it anyway.
  bool is_foreseen_without_measuring(const std::vector<const plan::Technique*>& techniques,
                                     const model::Job& job) const {
    if (request_.goal != FitGoal::kSameTraining) return false;
    std::vector<const plan::Technique*> known;
    std::ranges::copy_if(techniques, std::back_inserter(known),
                         [&](const plan::Technique* one) { return one->find_all_measurable(job, target_).empty(); });
    plan::Target mild = target_;
    mild.accept = std::min(mild.accept, plan::Tier::kRounding);
    return plan::is_foreseen_to_fit(job, mild, plan::build_axes(job, mild, known));
  }

  // Replaces the model's idea of some techniques by what a run shows. Left out where it would take too much of the
  // time.
  Result<void> measure(std::vector<const plan::Technique*>& techniques, model::Job& job,
                       const std::filesystem::path& folder) {
    if (result_.cause && result_.cause->is_all) return {};  // what puts that right comes first, and mostly is enough
    if (is_foreseen_without_measuring(techniques, job)) return {};
    for (const plan::Technique* technique : std::vector(techniques)) {
      const auto obstacle = measure_options(*technique, job, folder);
      if (!obstacle) return std::unexpected(obstacle.error());
      if (obstacle->empty()) continue;
      std::erase(techniques, technique);
      const auto row = std::ranges::find(result_.techniques, technique->id(), &model::TechniqueRow::id);
      row->standing = "not_possible";
      row->reason = *obstacle;
    }
    return {};
  }

  // Why none of its options can be; empty where one can, or was not tried.
  Result<std::string> measure_options(const plan::Technique& technique, model::Job& job,
                                      const std::filesystem::path& folder) {
    std::string obstacle;
    bool has_one = false;
    for (const model::Change& change : technique.find_all_measurable(job, target_)) {
      if (result_.free_run->wall_seconds > kMeasuringShare * left()) continue;
      progress_.update(fmt::format("measuring {} with {} GiB", technique.describe(change), plenty_gib_));
      const auto seen = measure_change(runner_, plentiful_request(), change, folder / "measured.json", job);
      if (!seen) return std::unexpected(seen.error());
      ++result_.runs;
      has_one = has_one || seen->obstacle.empty();
      if (obstacle.empty()) obstacle = seen->obstacle;
    }
    return has_one ? "" : obstacle;
  }

  static double own_seconds(const model::RunResult& run) { return run.wall_seconds - run.waited_seconds; }

  plan::OnTrial tell_trials() {
    return [this](const model::Plan& plan, const plan::Outlook& outlook, std::size_t done, std::string_view stage) {
      progress_.update(fmt::format("{}: {} (predicted {}) - {} run, at most {:.0f} s left", stage, plan.name,
                                   to_string(outlook.needs), done, left()));
    };
  }

  job::RunRequest trial_request() const {
    job::RunRequest trial = quiet_request();
    trial.span = span_.of_trials();
    trial.span_alone = true;
    // A plan that makes the script hang must not take the whole budget. What others of this machine do must not make
    // it look as if it did.
    if (trial.timeout_seconds) return trial;
    const double limit = kShortestLimit + kLimitFactor * own_seconds(*result_.free_run);
    (request_.budget_is_firm ? trial.timeout_seconds : trial.patient_seconds) = limit;
    return trial;
  }

  // Other cards, on which it would run as it is, and with the best plan.
  void look_at_hardware(const model::Job& job) {
    if (request_.catalogue.empty() || result_.cards > 1 || result_.verdict == FitVerdict::kInterrupted) return;
    const int cuda_major = std::atoi(result_.free_run->cuda.c_str());
    const plan::Forecast as_is = plan::start_forecast(job);
    // Of another network, it is no answer why this one does not fit.
    if (result_.plans.empty() || result_.plans.front().effect == name(plan::Effect::kNetwork)) {
      result_.floor = plan::prove_floor(job, target_, request_.catalogue);
    }
    result_.hardware = plan::find_hardware(job, target_, plan::demand_of(job, as_is), request_.catalogue, cuda_major);
    prove_hardware();
    if (result_.plans.empty()) return;
    const double as_it_is = result_.hardware.empty() ? 1e9 : result_.hardware.front().price;
    auto with_plan =
        plan::find_hardware(job, target_, plan::demand_of(job, result_.plans.front()), request_.catalogue, cuda_major);
    std::erase_if(with_plan, [&](const model::HardwareRow& row) { return row.price >= as_it_is; });
    result_.hardware.insert(result_.hardware.end(), with_plan.begin(), with_plan.end());
  }

  // Where every plan takes something from the training, or none fits, what an edit would free is of interest.
  void advise(const model::Job& job) {
    if (result_.verdict == FitVerdict::kInterrupted) return;
    const bool is_spared = !result_.plans.empty() && result_.plans.front().effect != name(plan::Effect::kOptimizer) &&
                           result_.plans.front().effect != name(plan::Effect::kInput) &&
                           result_.plans.front().effect != name(plan::Effect::kNetwork);
    if (is_spared) {
      result_.advice = job.advice;
      return;
    }
    std::shared_ptr<const model::ModuleTable> modules;
    if (kConfirmFactor * result_.free_run->wall_seconds <= left() && !base::was_interrupted()) {
      progress_.update("looking at what each part of the network holds");
      job::RunRequest request = plentiful_request();
      request.modules = true;
      const auto outcome = runner_.run(request, base::silent_progress());
      ++result_.runs;
      if (outcome) modules = outcome->result.modules;
    }
    result_.advice = plan::find_advice(job, target_, modules.get());
    if (result_.cards > 1) return;
    std::ranges::move(plan::advise_several_cards(job, target_), std::back_inserter(result_.advice));
  }

  // The cheapest card for the job as it is, by a run there; where it does not fit after all, the next.
  void prove_hardware() {
    // A figure for another card is no part of the answer: only for those who gave the search its time.
    while (request_.budget_is_firm && !result_.hardware.empty() && !base::was_interrupted()) {
      model::HardwareRow& row = result_.hardware.front();
      if (row.count > 1 || kConfirmFactor * result_.free_run->wall_seconds > left()) return;
      progress_.update(fmt::format("running the job as it is on {}", row.name));
      job::RunRequest request = quiet_request();
      request.cards = {{*std::ranges::find(request_.catalogue, row.key, &model::Card::key), std::nullopt}};
      const auto outcome = runner_.run(request, base::silent_progress());
      if (!outcome) return;
      ++result_.runs;
      row.proven = outcome->result.verdict == model::Verdict::kFits;
      if (row.proven || outcome->result.verdict == model::Verdict::kFailed) return;
      result_.hardware.erase(result_.hardware.begin());
    }
  }

  Result<void> find_batch(const model::Job& job) {
    const plan::Applicability possible = plan::effective_batch().applies_to(job, target_);
    if (possible.standing == plan::Standing::kNotPossible) {
      conclude(FitVerdict::kNotProven, possible.reason);
      return {};
    }
    const auto session = job::Session::create({});  // only for its folder
    if (!session) return std::unexpected(session.error());
    RunProver prover(trial_request(), phases_to_see(job), session->run_folder(), runner_);
    const auto found = plan::find_largest_batch(job, target_, prover, left(), clock_, tell_trials());
    if (found.ending == plan::Ending::kFailed && !found.best) return std::unexpected(*found.error);
    add_largest_batch(job, target_, found, result_);
    if (found.ending != plan::Ending::kInterrupted) confirm_best(session->run_folder());
    keep_exact_batch();
    plan::SearchResult ended;
    ended.ending = found.ending;
    set_verdict(ended, /*no_techniques=*/false, result_);
    if (result_.verdict == FitVerdict::kNothingFits) result_.reason = "not even a batch of one sample fits";
    for (PlanRow& row : result_.plans) row.equivalence = find_known_equivalence(row);
    if (!result_.plans.empty()) write_answer(request_, result_);
    return {};
  }

  // The largest may have made way for a smaller one, which ran to the end of the script.
  void keep_exact_batch() {
    if (!result_.largest_batch) return;
    if (result_.plans.empty()) {
      result_.largest_batch.reset();
      return;
    }
    const auto size = model::find_integer(result_.plans.front().plan.changes.front(), "batch_size").value_or(0);
    if (size == result_.largest_batch->size) return;
    result_.largest_batch = {size, result_.largest_batch->own, false, false};
  }

  Result<void> search_plans(model::Job job) {
    const auto session = job::Session::create({});  // only for its folder, which goes with it, or with the next run
    if (!session) return std::unexpected(session.error());
    auto techniques = choose_techniques(job);
    if (auto measured = measure(techniques, job, session->run_folder()); !measured) {
      if (measured.error().code != ErrorCode::kInterrupted) return measured;
      conclude(FitVerdict::kInterrupted, "");
      return {};
    }
    do {
      if (auto searched = search_among(techniques, job, session->run_folder()); !searched) return searched;
    } while (leaves_out_culprits(techniques) || looks_further());
    result_.runs += proofs_.runs();
    explain_ranks(result_);
    tell_what_was_compared(result_);
    if (!result_.plans.empty()) write_answer(request_, result_);
    return {};
  }

  Result<void> search_among(const std::vector<const plan::Technique*>& techniques, const model::Job& job,
                            const std::filesystem::path& folder) {
    const auto axes = plan::build_axes(job, target_, techniques);
    RunProver prover(trial_request(), phases_to_see(job), folder, runner_);
    plan::SearchOptions options;
    options.budget_seconds = left();
    options.runs_alternatives = options.doubts_forecast = request_.budget_is_firm;
    proofs_.prove_by(prover);
    const plan::SearchResult found = plan::search(job, target_, axes, proofs_, options, clock_, tell_trials());
    result_.was_interrupted |= found.ending == plan::Ending::kInterrupted;
    if (found.ending == plan::Ending::kFailed && !found.best) return std::unexpected(*found.error);
    add_search(job, target_, axes, found, result_);
    if (found.ending != plan::Ending::kInterrupted) settle_best(folder);
    set_verdict(found, axes.empty(), result_);
    return {};
  }

  // The best plan is one that runs to the end of the script and trains the same; others make way.
  void settle_best(const std::filesystem::path& folder) {
    job::RunRequest request = quiet_request();
    if (!request_.budget_is_firm) request.patient_seconds = left();
    Verifier verifier(std::move(request), folder, runner_, clock_);
    do {
      confirm_best(folder);
    } while (!result_.plans.empty() && makes_way(verifier));
    result_.runs += verifier.runs();
  }

  void note_interrupt(const base::Error& error) { result_.was_interrupted |= error.code == ErrorCode::kInterrupted; }

  // Whether the best plan was found to train something else, and is the best no more.
  bool makes_way(Verifier& verifier) {
    PlanRow& best = result_.plans.front();
    best.equivalence = find_known_equivalence(best);
    if (best.equivalence) return false;
    const double seconds = request_.budget_is_firm
                               ? left()
                               : std::clamp(kComparisonShare * left(), kShortestComparison, kLongestComparison);
    if (!request_.verify || seconds <= 0 || base::was_interrupted()) {
      best.equivalence = not_compared(!request_.verify ? "--no-verify"
                                      : seconds <= 0   ? "no time was left"
                                                       : "interrupted");
      return false;
    }
    const auto verified =
        verifier.compare(compared_part(best.plan), seconds, [&](std::string_view line) { progress_.update(line); });
    best.equivalence = verified ? verified->equivalence : not_compared(verified.error().what);
    if (!verified) note_interrupt(verified.error());
    if (!is_failed(*best.equivalence)) return false;
    plan::Proof proof;
    proof.detail = best.equivalence->text;
    proofs_.overrule(best.plan, std::move(proof));
    was_overruled_ = true;
    if (const std::string culprit = reject_best(result_); !culprit.empty()) culprits_.push_back(culprit);
    return true;
  }

  // Where the best plan did not stand and no other was run: whether to search on, by what is known now.
  bool looks_further() {
    if (!result_.plans.empty() || !std::exchange(was_overruled_, false)) return false;
    if (left() <= 0 || result_.was_interrupted || base::was_interrupted()) return false;
    std::erase_if(result_.lost, [](const PlanRow& row) {
      return row.standing != model::PlanStanding::kTrainsElse && !row.reason.starts_with(kAfterLoop);
    });
    result_.reason.clear();
    return true;
  }

  // Where nothing is left because a technique trains something else: whether to search again without it.
  bool leaves_out_culprits(std::vector<const plan::Technique*>& techniques) {
    if (!result_.plans.empty() || culprits_.empty() || left() <= 0) return false;
    std::size_t left_out = 0;
    for (const std::string& culprit : std::exchange(culprits_, {})) {
      left_out += std::erase_if(techniques, [&](const plan::Technique* one) { return one->id() == culprit; });
      rule_out(culprit, result_);
    }
    if (left_out == 0 || techniques.empty()) return false;
    result_.reason.clear();
    return true;
  }

  // The search stops its runs as soon as memory is steady. The best plan is run on beyond that, to what the script does
  // after its training loop; a plan that runs out there makes way for the next.
  void confirm_best(const std::filesystem::path& folder) {
    if (request_.run.steps != "auto") return;
    job::RunRequest request = quiet_request();
    request.steps = "auto";
    request.span = span_.of_answer();
    request.span_alone = true;  // the short run was its trial
    RunProver prover(std::move(request), {}, folder, runner_);
    // Of two runs that were joined, only the longer one's count is whole.
    const auto steps = span_.whole_steps() ? span_.whole_steps() : whole_steps_of(*result_.free_run);
    if (steps) prover.expect_steps(*steps);
    const double expected = kConfirmFactor * (result_.free_run->wall_seconds + span_.answer_seconds());
    while (!result_.plans.empty() && elapsed() + expected < result_.budget_seconds) {
      model::PlanRow& best = result_.plans.front();
      progress_.update(fmt::format("confirming {}", best.plan.name));
      const auto proof = prover.prove(best.plan, left());
      if (!proof) {
        note_interrupt(proof.error());
        return;
      }
      ++result_.runs;
      if (proof->outcome == plan::Outcome::kTimedOut) return;  // what was proven before stands
      if (proof->outcome == plan::Outcome::kFits) {
        best.proven = raised(best.proven.value_or(model::Peaks{}), *proof);
        best.retries = proof->retries;
        return;
      }
      proofs_.overrule(best.plan, *proof);
      was_overruled_ = true;
      const bool is_refused = proof->outcome == plan::Outcome::kRefused;  // so late because it came to light so late
      best.standing = is_refused ? model::PlanStanding::kTrainsElse : model::PlanStanding::kDoesNotFit;
      best.reason = (is_refused ? "" : kAfterLoop) + why_unproven(*proof);
      result_.lost.push_back(std::move(best));
      result_.plans.erase(result_.plans.begin());
      result_.cheapest_known = false;
    }
  }

  const FitRequest& request_;
  base::ProgressSink& progress_;
  PatientClock clock_;
  PatientRunner runner_;
  const std::int64_t started_ns_;
  FitSpan span_;
  plan::Target target_;
  FitResult result_;
  std::int64_t plenty_gib_ = kFreeRunGib;
  KeptProofs proofs_;
  bool was_overruled_ = false;         // a best plan did not stand, and what may take its place was not run
  std::vector<std::string> culprits_;  // techniques that were found to train something else
};

}  // namespace

Result<FitResult> fit(const FitRequest& request, job::Runner& runner, base::ProgressSink& progress,
                      const base::Clock& clock) {
  if (auto checked = check_request(request); !checked) return std::unexpected(checked.error());
  base::InterruptScope interrupts;
  if (auto prepared = runner.prepare(request.run, progress); !prepared) return std::unexpected(prepared.error());
  return Fit(request, runner, progress, clock).run();
}

}  // namespace vramfit::app
