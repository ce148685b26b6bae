#include "plan/search/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "plan/techniques/registry.h"
#include "plan/testing/example_job.h"

namespace vramfit::plan {
namespace {

class SteppedClock final : public base::Clock {
 public:
  std::int64_t now_ns() const override { return now_; }
  void advance(double seconds) { now_ += static_cast<std::int64_t>(seconds * 1e9); }

 private:
  std::int64_t now_ = 0;
};

// A synthetic card: memory follows a law of its own, monotone as the real one, and not the forecast's.
class LawProver final : public Prover {
 public:
  LawProver(Bytes limit, SteppedClock& clock) : limit_(limit), clock_(clock) {}

  Bytes needed(const model::Plan& plan) const {
    double activations = 2600 * activation_bias, fixed = 900;
    double not_kept = 0;  // recomputed or on the host: what is one need not be the other
    for (const model::Change& change : plan.changes) {
      if (change.technique == "micro_batch") activations *= share_of_batch(change);
      if (change.technique == "split_forward") activations /= static_cast<double>(*find_integer(change, "parts"));
      if (change.technique == "autocast") activations *= 0.66;
      if (change.technique == "checkpoint") {
        not_kept = std::max(not_kept, checkpoint_gain * static_cast<double>(find_names(change, "modules").size()) / 12);
      }
      if (change.technique == "offload_activations") not_kept = std::max(not_kept, checkpoint_gain);
      if (change.technique == "resize_input") activations *= std::pow(find_number(change, "scale").value_or(1), 2);
      if (change.technique == "half_weights") activations *= 0.4;
      if (change.technique == "optimizer") fixed -= find_text(change, "name") == "AdamW" ? 20 : 150;
    }
    activations *= 1 - not_kept;
    return Bytes(static_cast<std::int64_t>((activations + fixed) * (1 << 20)));
  }

  base::Result<Proof> prove(const model::Plan& plan, double seconds_left) override {
    if (runs == interrupt_after) return base::fail(base::ErrorCode::kInterrupted, "interrupted");
    ++runs;
    clock_.advance(std::min(seconds_per_run, seconds_left));
    Proof proof;
    if (seconds_per_run > seconds_left) {
      proof.outcome = Outcome::kTimedOut;
      return proof;
    }
    if (!breaks.empty() && model::find_change(plan, breaks) != nullptr) {
      proof.outcome = Outcome::kFailed;
      return proof;
    }
    if (!refuses.empty() && model::find_change(plan, refuses) != nullptr) {
      proof.outcome = Outcome::kRefused;
      proof.refused = {refuses};
      return proof;
    }
    proof.phase = fails_in;
    proof.outcome = needed(plan) <= limit_ ? Outcome::kFits : Outcome::kOutOfMemory;
    proof.peak_device = std::min(needed(plan), limit_);
    if (proof.outcome == Outcome::kFits && needed(plan) > limit_ - tight_below) proof.retries = 3;
    return proof;
  }

  int runs = 0;
  int interrupt_after = -1;
  double seconds_per_run = 1;
  double activation_bias = 1;
  double checkpoint_gain = 0.8;
  Bytes tight_below;  // the cache is emptied when less is left than this
  std::string refuses, breaks, fails_in;

 private:
  static double share_of_batch(const model::Change& change) {
    const bool training = std::get<std::vector<std::int64_t>>(change.settings.at("loaders"))[0] == 0;
    return training ? static_cast<double>(find_integer(change, "micro_batch").value_or(8)) / 8 : 1;
  }

  Bytes limit_;
  SteppedClock& clock_;
};

SearchOptions trusting_nothing() {
  SearchOptions options;
  options.budget_seconds = 1e9;
  options.hopeless_excess = options.hopeless_excess_played = std::numeric_limits<double>::infinity();
  options.hopeless_excess_seen = options.hopeless_excess_held = std::numeric_limits<double>::infinity();
  options.noticed = 0;
  options.alternatives = 0;
  options.makes_room = false;
  return options;
}

struct Setting {
  model::Job job = example_job();
  Target target = example_target();
  std::vector<Axis> axes;
  SteppedClock clock;

  explicit Setting(std::int64_t limit_mib, std::span<const Technique* const> techniques = all_techniques())
      : target(example_target(limit_mib)) {
    axes = build_axes(job, target, techniques);
  }
  SearchResult search_with(LawProver& prover, const SearchOptions& options = {}) {
    return search(job, target, axes, prover, options, clock);
  }
};

// Independent of the search: run everything, take the cheapest.
std::optional<Candidate> find_cheapest_by_force(const Setting& setting, const LawProver& prover) {
  std::optional<Candidate> cheapest;
  for (const Candidate& candidate : build_candidates(setting.job, setting.target, setting.axes)) {
    const auto plan = explain(setting.job, setting.target, setting.axes, candidate).plan;
    if (prover.needed(plan) > setting.target.limit) continue;
    if (!cheapest || Cheaper()(candidate, *cheapest)) cheapest = candidate;
  }
  return cheapest;
}

// A forecast that is too high by less than its kind was before rules nothing out.
TEST(Search, finds_what_brute_force_finds_wherever_its_interval_reaches_the_card) {
  std::mt19937 random(11);
  int reached = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<const Technique*> techniques(all_techniques().begin(), all_techniques().end());
    std::ranges::shuffle(techniques, random);
    techniques.resize(techniques.size() / 2);
    Setting setting(std::uniform_int_distribution<std::int64_t>(900, 3000)(random), techniques);
    LawProver prover(setting.target.limit, setting.clock);
    prover.activation_bias = std::uniform_real_distribution<double>(0.6, 0.9)(random);
    const auto expected = find_cheapest_by_force(setting, prover);
    const auto limit = static_cast<double>(setting.target.limit.count());
    if (!expected || lowest_of(static_cast<double>(expected->needs.count()), MadeBy::kAddedUp) > limit) continue;
    reached += expected->needs > setting.target.limit ? 1 : 0;
    SearchOptions options = trusting_nothing();
    options.hopeless_excess = options.hopeless_excess_played = 0;
    const SearchResult result = setting.search_with(prover, options);
    ASSERT_TRUE(result.best) << round;
    EXPECT_EQ(result.trials[*result.best].candidate, *expected) << round;
  }
  EXPECT_GT(reached, 5) << "of those, forecasts above the card";
}

TEST(Search, finds_what_brute_force_finds_on_many_cards_and_laws) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    // All of them together are tens of thousands of plans: other ones in each round.
    std::vector<const Technique*> techniques(all_techniques().begin(), all_techniques().end());
    std::ranges::shuffle(techniques, random);
    techniques.resize(techniques.size() / 2);
    Setting setting(std::uniform_int_distribution<std::int64_t>(700, 3400)(random), techniques);
    LawProver prover(setting.target.limit, setting.clock);
    prover.activation_bias = std::uniform_real_distribution<double>(0.6, 1.5)(random);
    prover.checkpoint_gain = std::uniform_real_distribution<double>(0.1, 0.9)(random);
    const auto expected = find_cheapest_by_force(setting, prover);
    const SearchResult result = setting.search_with(prover, trusting_nothing());
    ASSERT_EQ(result.best.has_value(), expected.has_value()) << "round " << round;
    EXPECT_EQ(result.ending, expected ? Ending::kCheapestProven : Ending::kNothingFits);
    if (expected) {
      EXPECT_EQ(result.trials[*result.best].candidate, *expected) << "round " << round;
    }
    EXPECT_LT(prover.runs, 100) << "round " << round << ": of " << result.candidates;
  }
}

TEST(Search, runs_a_small_part_of_what_there_is) {
  Setting setting(2048);
  LawProver prover(setting.target.limit, setting.clock);
  const SearchResult result = setting.search_with(prover);
  ASSERT_TRUE(result.best);
  EXPECT_GT(result.candidates, 1000U);
  EXPECT_LE(prover.runs, 25);
}

// Checkpointing alone would do, and is predicted not to; with another optimizer it is the strongest, and is run.
TEST(Search, leaves_out_of_the_best_plan_what_it_does_not_need) {
  std::vector<const Technique*> techniques;
  for (const Technique* technique : all_techniques()) {
    if (technique->id() == "checkpoint" || technique->id() == "optimizer") techniques.push_back(technique);
  }
  Setting setting(1000, techniques);
  LawProver prover(setting.target.limit, setting.clock);
  prover.checkpoint_gain = 0.99;
  const SearchResult result = setting.search_with(prover);
  ASSERT_TRUE(result.best);
  const auto expected = find_cheapest_by_force(setting, prover);
  ASSERT_TRUE(expected);
  ASSERT_EQ(expected->changes, 1);
  EXPECT_GT(expected->needs, setting.target.limit) << "or the prediction would have found it";
  EXPECT_EQ(result.trials[*result.best].candidate, *expected);
}

TEST(Search, keeps_only_what_was_proven) {
  Setting setting(2048);
  LawProver prover(setting.target.limit, setting.clock);
  prover.activation_bias = 1.4;  // the forecast is far too hopeful
  const SearchResult result = setting.search_with(prover);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(result.trials[*result.best].proof.outcome, Outcome::kFits);
  EXPECT_LE(prover.needed(result.trials[*result.best].plan), setting.target.limit);
}

TEST(Search, says_that_nothing_fits_only_after_the_strongest_was_run) {
  Setting setting(500);
  LawProver prover(setting.target.limit, setting.clock);
  const SearchResult result = setting.search_with(prover);
  EXPECT_EQ(result.ending, Ending::kNothingFits);
  EXPECT_FALSE(result.best);
  EXPECT_GE(prover.runs, 1);
  EXPECT_EQ(result.trials.size() + result.ruled_out, result.candidates);
}

TEST(Search, where_nothing_is_foreseen_to_fit_nothing_is_run_before_all_is_known) {
  Setting setting(200);
  LawProver prover(setting.target.limit, setting.clock);
  SearchOptions options;
  options.tries_hopeless = false;
  EXPECT_FALSE(setting.search_with(prover, options).best);
  EXPECT_EQ(prover.runs, 0);
}

TEST(Search, plans_of_ranks_that_are_not_asked_for_are_only_predicted) {
  for (const Rank before : {Rank::kRounding, Rank::kPrecision, Rank::kUpdates, Rank::kAnother}) {
    Setting setting(2000);
    LawProver prover(setting.target.limit, setting.clock);
    SearchOptions options;
    options.before = before;
    options.makes_room = options.runs_alternatives = false;
    const SearchResult result = setting.search_with(prover, options);
    EXPECT_FALSE(result.trials.empty());
    for (const PlanTrial& trial : result.trials) EXPECT_LT(rank_of(trial.candidate), before) << trial.plan.name;
  }
}

TEST(Search, the_least_rank_that_is_foreseen_to_fit_is_that_of_the_first_such_plan) {
  Setting setting(2000);
  const Rank least = find_foreseen_rank(setting.job, setting.target, setting.axes);
  EXPECT_EQ(least, Rank::kEqual);
  EXPECT_GE(find_foreseen_rank(setting.job, setting.target, setting.axes, Rank::kPrecision), Rank::kPrecision);
  EXPECT_EQ(find_foreseen_rank(setting.job, example_target(300), setting.axes), Rank::kBeyondAll);
}

TEST(Search, running_out_of_time_is_not_the_same_as_nothing_fits) {
  Setting setting(1400);
  LawProver prover(setting.target.limit, setting.clock);
  prover.seconds_per_run = 40;
  prover.activation_bias = 1.5;
  SearchOptions options;
  options.budget_seconds = 60;
  const SearchResult result = setting.search_with(prover, options);
  EXPECT_EQ(result.ending, Ending::kBudgetUsed);
  EXPECT_LE(base::seconds_between(0, setting.clock.now_ns()), 60.0);
}

TEST(Search, one_slow_run_ends_with_the_budget_and_says_nothing_of_its_plan) {
  Setting setting(1400);
  LawProver prover(setting.target.limit, setting.clock);
  prover.seconds_per_run = 400;
  const SearchResult result = setting.search_with(prover);
  EXPECT_EQ(result.ending, Ending::kBudgetUsed);
  EXPECT_EQ(prover.runs, 1);
  EXPECT_NEAR(base::seconds_between(0, setting.clock.now_ns()), SearchOptions{}.budget_seconds, 0.01);
}

TEST(Search, what_broke_the_script_was_not_proven_not_to_fit) {
  // All combinations of all techniques are thousands of runs, each of which tells little.
  const std::vector<const Technique*> techniques = {&micro_batch(), &autocast(), &checkpoint(), &optimizer()};
  Setting setting(800, techniques);
  LawProver prover(setting.target.limit, setting.clock);
  prover.activation_bias = 1.2;
  prover.breaks = "micro_batch";
  const SearchResult result = setting.search_with(prover, trusting_nothing());
  EXPECT_FALSE(result.best);
  EXPECT_EQ(result.ending, Ending::kNothingProven);
}

TEST(Search, an_interrupt_keeps_what_was_proven) {
  Setting setting(2048);
  LawProver prover(setting.target.limit, setting.clock);
  prover.interrupt_after = 4;
  const SearchResult result = setting.search_with(prover);
  EXPECT_EQ(result.ending, Ending::kInterrupted);
  EXPECT_EQ(result.trials.size(), 4U);
}

TEST(Search, a_refused_technique_is_not_tried_again) {
  const std::vector<const Technique*> techniques = {&autocast(), &resize_input(), &optimizer()};
  Setting setting(2048, techniques);
  LawProver prover(setting.target.limit, setting.clock);
  prover.refuses = "autocast";
  const SearchResult result = setting.search_with(prover);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(std::ranges::count_if(result.trials,
                                  [](const PlanTrial& trial) { return trial.proof.outcome == Outcome::kRefused; }),
            1);
  EXPECT_EQ(model::find_change(result.trials[*result.best].plan, "autocast"), nullptr);
}

TEST(Search, what_ran_out_in_training_is_not_tried_with_another_batch_of_the_evaluation) {
  Setting setting(1400);
  setting.job.oom = model::OomFacts{"train", Bytes::mib(64), Bytes::mib(1300), Bytes::mib(1300)};
  LawProver prover(setting.target.limit, setting.clock);
  prover.fails_in = "train";
  const SearchResult result = setting.search_with(prover, trusting_nothing());
  ASSERT_TRUE(result.best);
  for (const PlanTrial& trial : result.trials) {
    for (const model::Change& change : trial.plan.changes) {
      const auto loaders = change.settings.find("loaders");
      if (loaders == change.settings.end()) continue;
      EXPECT_EQ(std::get<std::vector<std::int64_t>>(loaders->second).front(), 0) << trial.plan.name;
    }
  }
  setting.job.oom->phase = "validate";  // with what the forecast says, none of these moments can be too large
  prover.fails_in = "";
  EXPECT_TRUE(setting.search_with(prover, trusting_nothing()).best);
}

TEST(Search, a_tight_plan_gives_way_to_one_with_room_that_costs_little_more) {
  Setting setting(2000);
  LawProver loose(setting.target.limit, setting.clock);
  const SearchResult cheapest = setting.search_with(loose);
  ASSERT_TRUE(cheapest.best);
  const PlanTrial& first = cheapest.trials[*cheapest.best];
  LawProver prover(setting.target.limit, setting.clock);
  prover.tight_below = setting.target.limit - loose.needed(first.plan) + Bytes::mib(1);
  const SearchResult roomy = setting.search_with(prover);
  ASSERT_TRUE(roomy.best);
  const PlanTrial& best = roomy.trials[*roomy.best];
  EXPECT_EQ(best.proof.retries, 0);
  EXPECT_TRUE(Cheaper()(first.candidate, best.candidate));
  EXPECT_LE(best.candidate.time_factor, first.candidate.time_factor * 1.25);
  EXPECT_LE(best.candidate.effect, std::max(first.candidate.effect, Effect::kRounding));
  EXPECT_EQ(roomy.ending, Ending::kCheapestProven);
}

TEST(Search, where_every_plan_is_tight_the_cheapest_stays) {
  Setting setting(2000);
  LawProver loose(setting.target.limit, setting.clock), tight(setting.target.limit, setting.clock);
  tight.tight_below = setting.target.limit;
  const SearchResult expected = setting.search_with(loose), found = setting.search_with(tight);
  ASSERT_TRUE(expected.best && found.best);
  EXPECT_EQ(found.trials[*found.best].plan.name, expected.trials[*expected.best].plan.name);
}

TEST(Search, what_is_not_accepted_is_not_run) {
  for (const Tier accept : {Tier::kEqual, Tier::kRounding, Tier::kPrecision}) {
    Setting setting(2400);
    setting.target.accept = accept;
    setting.target.max_slowdown = 1.5;
    LawProver prover(setting.target.limit, setting.clock);
    const SearchResult result = setting.search_with(prover);
    EXPECT_GT(result.candidates, 0U);
    for (const PlanTrial& trial : result.trials) {
      EXPECT_LE(tier_of(trial.candidate.effect), accept) << trial.plan.name;
      EXPECT_LE(trial.candidate.time_factor, 1.5) << trial.plan.name;
    }
  }
}

TEST(Search, alternatives_are_other_kinds_of_plan) {
  Setting setting(2400);
  LawProver prover(setting.target.limit, setting.clock);
  const SearchResult result = setting.search_with(prover);
  EXPECT_GE(std::ranges::count_if(result.trials,
                                  [](const PlanTrial& trial) { return trial.proof.outcome == Outcome::kFits; }),
            3);
}

TEST(Search, alternatives_may_be_foreseen_instead_of_run) {
  Setting setting(2400);
  LawProver all(setting.target.limit, setting.clock), few(setting.target.limit, setting.clock);
  const SearchResult run = setting.search_with(all);
  SearchOptions options;
  options.runs_alternatives = false;
  const SearchResult foreseen = setting.search_with(few, options);
  ASSERT_TRUE(run.best && foreseen.best);
  EXPECT_EQ(foreseen.trials[*foreseen.best].plan.name, run.trials[*run.best].plan.name);
  EXPECT_LT(few.runs, all.runs);
  EXPECT_GE(foreseen.foreseen.size(), 3U);
  for (const Foreseen& one : foreseen.foreseen) EXPECT_LE(one.explained.outlook.needs, setting.target.limit);
}

TEST(Search, a_plan_that_takes_nothing_from_the_training_is_proven_in_few_runs) {
  Setting setting(2400);
  LawProver prover(setting.target.limit, setting.clock);
  SearchOptions options;
  options.runs_alternatives = false;
  const SearchResult result = setting.search_with(prover, options);
  ASSERT_TRUE(result.best);
  EXPECT_EQ(tier_of(result.trials[*result.best].candidate.effect), Tier::kEqual);
  EXPECT_LE(prover.runs, 8);
  for (const PlanTrial& trial : result.trials)
    EXPECT_LE(tier_of(trial.candidate.effect), Tier::kRounding) << trial.plan.name;
}

// Runs for a card of 2000 MiB and a job of which so much is there at once whatever its batch; sums know no better than
// that accumulation takes it down.
int count_runs(Bytes there, const SearchOptions& options) {
  std::vector<const Technique*> techniques(all_techniques().begin(), all_techniques().end());
  std::erase(techniques, &split_forward());  // another way to parts of a batch, for which others are tried instead
  Setting setting(2000, techniques);
  model::AllocationStream stream;
  stream.blocks.push_back(
      {0, model::kStreamEnd, -1, there.count(), VF_PHASE_TRAIN, VF_STAGE_OTHER, model::BlockOwner::kWeights});
  stream.peak_reserved = there;
  setting.job.streams[""] = std::make_shared<model::AllocationStream>(stream);
  LawProver prover(Bytes::mib(2000), setting.clock);
  setting.search_with(prover, options);
  return prover.runs;
}

TEST(Search, what_tensors_alone_make_too_large_is_not_run) {
  SearchOptions options = trusting_nothing();
  options.hopeless_excess_held = SearchOptions{}.hopeless_excess_held;
  EXPECT_LT(count_runs(Bytes::gib(2), options), count_runs(Bytes::gib(2), trusting_nothing()));
}

TEST(Search, what_needs_more_than_the_card_by_its_whole_interval_is_not_run) {
  SearchOptions options = trusting_nothing();
  options.hopeless_excess_seen = SearchOptions{}.hopeless_excess_seen;
  const Bytes there = Bytes::mib(1900);  // with what the card lost: 2.15 GiB
  EXPECT_LT(count_runs(there, options), count_runs(there, trusting_nothing()));
}

// What is left out for winning too little is no better than the answer by more than that.
TEST(Search, runs_less_where_little_is_to_be_won) {
  std::mt19937 random(5);
  int saved = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<const Technique*> techniques(all_techniques().begin(), all_techniques().end());
    std::ranges::shuffle(techniques, random);
    techniques.resize(techniques.size() / 2);
    Setting setting(std::uniform_int_distribution<std::int64_t>(900, 3000)(random), techniques);
    LawProver prover(setting.target.limit, setting.clock), thorough(setting.target.limit, setting.clock);
    prover.activation_bias = thorough.activation_bias = std::uniform_real_distribution<double>(0.6, 1.2)(random);
    SearchOptions options = trusting_nothing();
    options.noticed = SearchOptions{}.noticed;
    const SearchResult result = setting.search_with(prover, options);
    const SearchResult expected = setting.search_with(thorough, trusting_nothing());
    ASSERT_EQ(result.best.has_value(), expected.best.has_value()) << round;
    if (!expected.best) continue;
    const Candidate& found = result.trials[*result.best].candidate;
    const Candidate& cheapest = expected.trials[*expected.best].candidate;
    EXPECT_TRUE(found == cheapest || gain_of(cheapest, found) <= options.noticed) << round;
    EXPECT_LE(prover.runs, thorough.runs + 2) << round;
    saved += thorough.runs - prover.runs;
  }
  EXPECT_GT(saved, 10);
}

}  // namespace
}  // namespace vramfit::plan
