#include "plan/search/search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/search/trials.h"

namespace vramfit::plan {
namespace {

constexpr int kRunsForRoom = 3;
constexpr int kRunsToTrust = 4;  // plans in the order of the forecast, before the one that frees most is run
constexpr double kFurther =
    0.06;  // the safety that a sum of savings is given, more of it after each plan that did not fit
constexpr double kRoom = 0.08;        // share of the card that a plan "with room" is predicted to leave free
constexpr double kCostOfRoom = 1.25;  // a plan with room may make a step this much slower than the tight one
constexpr double kTightShare = 0.98;  // of the card
// The prediction may be wrong about a plan that nothing else rules out. Up to kRunsInDoubt of these are run as well, if
// they are predicted to need at most kThinkable times the card and there is time for kDoubtShare more runs.
constexpr int kRunsInDoubt = 2;
constexpr double kThinkable = 3, kDoubtShare = 5;
constexpr int kRunsToLeaveOut = 3;
constexpr double kShareInDoubt = 0.5;  // of the time: before later ranks, for plans that are not foreseen to fit

// The stages in which candidates are run: search.h.
class Search {
 public:
  Search(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Prover& prover,
         const SearchOptions& options, const base::Clock& clock, const OnTrial& on_trial)
      : job_(job),
        target_(target),
        axes_(axes),
        options_(options),
        trials_(job, target, axes, prover, options, clock, on_trial),
        candidates_(trials_.candidates()),
        end_(find_end()),
        needs_(trials_.needs()),
        open_(trials_.open()),
        result_(trials_.result()) {}

  SearchResult run() {
    open_.learn_from_job();
    try_mends();
    if (!trials_.has_best()) secure();
    if (trials_.has_best()) improve();
    if (trials_.has_best()) leave_out_what_is_not_needed();
    if (trials_.has_best()) doubt_forecast();
    if (trials_.has_best() && options_.makes_room) make_room();
    const bool cheapest_known = !trials_.is_over() && trials_.has_best();
    if (cheapest_known) widen();
    result_.ending = trials_.ending(cheapest_known);
    result_.ruled_out = open_.count_closed_without_run();
    return std::move(result_);
  }

 private:
  // Candidates are in the order of ranks where plans are ranked by what they take from the training.
  std::size_t find_end() const {
    if (target_.goal != Goal::kSameTraining) return candidates_.size();
    const auto end =
        std::ranges::lower_bound(candidates_, options_.before, {}, [](const Candidate& one) { return rank_of(one); });
    return static_cast<std::size_t>(end - candidates_.begin());
  }

  // Techniques that put a fault of the script right come first, each by itself: the mildest option that fits is looked
  // for by bisection. They are tried whatever is foreseen: of what a fault keeps, least is known.
  void try_mends() {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (!axes_[axis].technique->mends_cause(job_)) continue;
      const std::vector<std::size_t> chain = find_chain(axis);
      std::size_t low = 0, high = chain.size();  // chain[high] fits, chain[low - 1] does not
      std::size_t probe = find_predicted(chain, low, high);
      while (low < high && open_.is_open(chain[probe]) && trials_.may_run()) {
        if (trials_.try_candidate(chain[probe], "one change")) {
          high = probe;
        } else {
          low = probe + 1;
        }
        probe = low + (high - low) / 2;
        if (probe >= chain.size()) break;
      }
    }
  }

  // Indices of the candidates that change this axis alone, mildest first.
  std::vector<std::size_t> find_chain(std::size_t axis) const {
    std::vector<std::size_t> chain(axes_[axis].options.size(), kNoCandidate);
    for (std::size_t i = 0; i < end_; ++i) {
      const auto level = candidates_[i].levels[axis];
      if (candidates_[i].changes == 1 && level > 0) chain[level - 1U] = i;
    }
    std::erase(chain, kNoCandidate);  // options that the target does not accept are no candidates
    return chain;
  }

  std::size_t find_predicted(const std::vector<std::size_t>& chain, std::size_t low, std::size_t high) {
    for (std::size_t i = low; i < high; ++i) {
      if (needs_.of(chain[i]) <= target_.limit) return i;
    }
    return high > low ? high - 1 : low;
  }

  // The cheapest of the first `end` candidates that is predicted to fit. Each plan that was predicted to fit and did
  // not makes the search more careful: the predictions then have to leave more room.
  std::size_t find_promising(std::size_t end) {
    return trials_.find_first_open(end, [&](std::size_t i) {
      const double needs = static_cast<double>(needs_.of(i).count());
      // A played forecast is near enough to be put to the test as it is: it has no safety to begin with.
      const double further = needs_.error_of_played(i).value_or(kFurther);
      const double safety = (needs_.is_played(i) ? 0 : options_.safety) + further * disappointments_;
      return needs <= static_cast<double>(target_.limit.count()) * (1 - safety);
    });
  }

  // When nothing promising is left, or the forecast has been wrong a few times, the candidate that frees most is run,
  // of those that may fit. One that is foreseen not to is run only where nothing else is left: if even that does not
  // fit, nothing does; and its failure rules out more than any other's.
  void secure() {
    for (int run = 1; !trials_.has_best() && trials_.may_run(); ++run) {
      const bool may_doubt = has_time_for_doubts();
      std::size_t next = may_doubt && run % kRunsToTrust == 0 ? kNoCandidate : find_promising(end_);
      if (next == kNoCandidate && may_doubt) {
        next = trials_.find_smallest_open(end_, [&](std::size_t i) { return !needs_.is_hopeless(i); });
      }
      std::string_view stage = "combinations";
      if (next == kNoCandidate && options_.tries_hopeless) {
        next = trials_.find_smallest_open(end_, [](std::size_t) { return true; });
        stage = "none is foreseen to fit, what frees most";
      }
      if (next == kNoCandidate) return;
      if (!trials_.try_candidate(next, stage)) ++disappointments_;
    }
  }

  // Where plans of later ranks are left, they must not lack the time for what is in doubt among these.
  bool has_time_for_doubts() const {
    return end_ == candidates_.size() || trials_.elapsed() <= kShareInDoubt * options_.budget_seconds;
  }

  // Looks for a cheaper plan than the best so far. Promising ones are run in the order of their cost: the first that
  // fits is the answer. Then the doubtful ones, the strongest first, because its failure rules out many others.
  void improve() {
    while (true) {
      std::size_t next = find_promising(trials_.best());
      if (next == kNoCandidate)
        next = trials_.find_smallest_open(trials_.best(),
                                          [&](std::size_t i) { return !needs_.is_hopeless(i) && is_worth_a_run(i); });
      if (next == kNoCandidate || !trials_.may_run()) return;
      if (!trials_.try_candidate(next, "cheaper ones")) ++disappointments_;
    }
  }

  // A candidate that is predicted not to fit is run only if people would notice the time that it would save.
  bool is_worth_a_run(std::size_t index) {
    return needs_.of(index) <= target_.limit ||
           gain_of(candidates_[index], candidates_[trials_.best()]) >= options_.noticed;
  }

  // The best plan may have been proven to need far less than was predicted. Plans that leave out some of its changes
  // were predicted by the same means: what such a plan needs more is added to what was proven, and the cheapest of
  // those that fit so is run.
  void leave_out_what_is_not_needed() {
    for (int run = 0; run < kRunsToLeaveOut; ++run) {
      const double proven = static_cast<double>(result_.trials[*result_.best].proof.peak_device.count());
      const double predicted = static_cast<double>(needs_.of(trials_.best()).count());
      const std::size_t next = trials_.find_first_open(trials_.best(), [&](std::size_t i) {
        const double more = std::max(static_cast<double>(needs_.of(i).count()) - predicted, 0.0);
        return is_part_of(candidates_[i], candidates_[trials_.best()]) &&
               proven + more <= static_cast<double>(target_.limit.count()) * (1 - options_.safety);
      });
      if (next == kNoCandidate || !trials_.may_run()) return;
      if (trials_.try_candidate(next, "without what is not needed")) improve();
    }
  }

  static bool is_part_of(const Candidate& part, const Candidate& whole) {
    return std::ranges::equal(part.levels, whole.levels, [](auto one, auto other) { return one == 0 || one == other; });
  }

  // Runs a few candidates that the prediction alone rules out, if they would take less from the training than the best
  // plan or change fewer things. One that fails rules out all that free less.
  void doubt_forecast() {
    for (int run = 0; options_.doubts_forecast && run < kRunsInDoubt; ++run) {
      const Candidate& best = candidates_[trials_.best()];
      const std::size_t next = trials_.find_smallest_open(trials_.best(), [&](std::size_t i) {
        const Candidate& one = candidates_[i];
        return (tier_of(one.effect) < tier_of(best.effect) || one.changes < best.changes) && is_thinkable(i);
      });
      if (next == kNoCandidate || !trials_.has_time_for(kDoubtShare)) break;
      if (!trials_.may_run()) return;
      if (trials_.try_candidate(next, "against the forecast")) improve();
    }
    result_.only_foreseen = open_.count_open(trials_.best());
  }

  bool is_thinkable(std::size_t index) {
    return static_cast<double>(needs_.of(index).count()) <= static_cast<double>(target_.limit.count()) * kThinkable;
  }

  // The cheapest plan may leave nothing to spare, or fit only because PyTorch empties its cache again and again. How
  // much time that costs no model knows, so a plan with more room takes its place if it costs little more.
  void make_room() {
    double most = static_cast<double>(target_.limit.count()) * (1 - kRoom);
    for (int run = 0; run < kRunsForRoom && is_tight_candidate(trials_.best()); ++run) {
      const Candidate& tight = candidates_[trials_.best()];
      const std::vector<bool>& touched = open_.axes_of(result_.trials[*result_.best].proof.phase);
      const std::size_t next = trials_.find_first_open(candidates_.size(), [&](std::size_t i) {
        const Candidate& candidate = candidates_[i];
        return i > trials_.best() && !is_at_most_on(touched, candidate, tight) &&
               tier_of(candidate.effect) <= std::max(tier_of(tight.effect), Tier::kRounding) &&
               candidate.time_factor <= tight.time_factor * kCostOfRoom &&
               static_cast<double>(needs_.of(i).count()) <= most;
      });
      if (next == kNoCandidate || !trials_.may_run()) return;
      most = static_cast<double>(needs_.of(next).count()) * (1 - kRoom);
      if (trials_.try_candidate(next, "with room") && !is_tight_candidate(next)) {
        trials_.prefer_last(next);
      }
    }
  }

  bool is_tight_candidate(std::size_t index) const {
    return std::ranges::any_of(result_.trials, [&](const PlanTrial& trial) {
      return trial.candidate == candidates_[index] && is_tight(trial.proof, target_.limit);
    });
  }

  // Looks for other kinds of plan to show: each a set of techniques that does not merely add to one that is shown.
  void widen() {
    int wanted = options_.alternatives;
    for (const PlanTrial& trial : result_.trials) wanted -= trial.proof.outcome == Outcome::kFits ? 1 : 0;
    while (wanted >= 0 && (!options_.runs_alternatives || trials_.may_run())) {
      const std::size_t next = trials_.find_first_open(candidates_.size(), [&](std::size_t i) {
        return is_another_kind(candidates_[i]) &&
               static_cast<double>(needs_.of(i).count()) <=
                   static_cast<double>(target_.limit.count()) * (1 - options_.safety);
      });
      if (next == kNoCandidate) return;
      if (options_.runs_alternatives) {
        if (trials_.try_candidate(next, "alternatives")) --wanted;
      } else {
        result_.foreseen.push_back(
            {candidates_[next], explain(job_, target_, axes_, candidates_[next], &needs_.player())});
        --wanted;
      }
    }
    // The answer is complete without these. If time ran out here, the search has still come to its end.
    if (!result_.error) trials_.end_well();
  }

  bool contains(const Candidate& larger, const Candidate& smaller) const {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (smaller.levels[axis] > 0 && larger.levels[axis] == 0) return false;
    }
    return true;
  }

  bool is_another_kind(const Candidate& candidate) const {
    const auto holds = [&](const Candidate& shown) { return contains(candidate, shown); };
    return std::ranges::none_of(result_.trials,
                                [&](const PlanTrial& trial) {
                                  return trial.proof.outcome == Outcome::kFits && holds(trial.candidate);
                                }) &&
           std::ranges::none_of(result_.foreseen, holds, &Foreseen::candidate);
  }

  const model::Job& job_;
  const Target& target_;
  const std::vector<Axis>& axes_;
  const SearchOptions& options_;
  Trials trials_;
  const std::vector<Candidate>& candidates_;
  const std::size_t end_;  // of those that may be run
  PredictedNeeds& needs_;
  OpenCandidates& open_;
  SearchResult& result_;
  int disappointments_ = 0;
};

}  // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFits:
      return "fits";
    case Outcome::kBorderline:
      return "borderline";
    case Outcome::kOutOfMemory:
      return "out_of_memory";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kTimedOut:
      return "timed_out";
  }
  return "unknown";
}

bool is_tight(const Proof& proof, Bytes limit) {
  const double share = static_cast<double>(proof.peak_device.count()) / static_cast<double>(limit.count());
  return proof.retries > 0 || share >= kTightShare;
}

Rank find_foreseen_rank(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Rank from) {
  constexpr std::size_t kMostPlayed = 200;
  const double most = static_cast<double>(target.limit.count()) * (1 - SearchOptions{}.safety);
  const auto fits = [&](Bytes needs) { return static_cast<double>(needs.count()) <= most; };
  const StreamPlayer player(job);
  std::size_t played = 0;
  for (const Candidate& candidate : build_candidates(job, target, axes)) {
    if (rank_of(candidate) < from) continue;
    if (!player.is_sound() && fits(candidate.needs)) return rank_of(candidate);
    if (!player.is_sound()) continue;
    if (!may_fit(candidate.needs, most)) continue;
    if (++played > kMostPlayed) break;
    const auto outlook = play(job, target, axes, candidate, player);
    if (fits(outlook ? outlook->needs : candidate.needs)) return rank_of(candidate);
  }
  return Rank::kBeyondAll;
}

SearchResult search(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Prover& prover,
                    const SearchOptions& options, const base::Clock& clock, const OnTrial& on_trial) {
  return Search(job, target, axes, prover, options, clock, on_trial).run();
}

}  // namespace vramfit::plan
