#include "plan/search/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace vramfit::plan {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr int kRunsForRoom = 3;
constexpr int kRunsToTrust = 4;       // of the forecast, before what frees most is run
constexpr double kFurther = 0.06;     // how much more a sum of savings may be off, after each plan that did not fit
constexpr double kRoom = 0.08;        // of the card, that a plan with room is predicted to leave
constexpr double kCostOfRoom = 1.25;  // times the step of the tight plan
constexpr double kTightShare = 0.98;  // of the card
constexpr double kMostPlaySeconds = 4;
// Plans that only the prediction rules out are run too, so many at most: those that are predicted to need up to
// kThinkable times the card, while there is time left for kDoubtShare runs.
constexpr int kRunsInDoubt = 2;
constexpr double kThinkable = 3, kDoubtShare = 5;

// Whether what was added up may be so far off that the plan fits: if not, it is not played.
bool is_near(Bytes added_up, double limit) {
  return lowest_of(static_cast<double>(added_up.count()), MadeBy::kAddedUp) <= limit;
}

class Search {
 public:
  Search(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Prover& prover,
         const SearchOptions& options, const base::Clock& clock, const OnTrial& on_trial)
      : job_(job),
        target_(target),
        axes_(axes),
        prover_(prover),
        options_(options),
        clock_(clock),
        on_trial_(on_trial),
        started_ns_(clock.now_ns()),
        candidates_(build_candidates(job, target, axes)),
        state_(candidates_.size(), State::kOpen),
        matters_(axes.size(), false),
        player_(job),
        played_(candidates_.size()) {
    result_.candidates = candidates_.size();
  }

  SearchResult run() {
    learn_from_job();
    try_mends();
    if (best_ == kNone) secure();
    if (best_ != kNone) improve();
    if (best_ != kNone) doubt_forecast();
    if (best_ != kNone && options_.makes_room) make_room();
    const bool cheapest_known = !stopped_ && best_ != kNone;
    if (cheapest_known) widen();
    result_.ending = ending(cheapest_known);
    result_.ruled_out =
        static_cast<std::size_t>(std::ranges::count_if(state_, [](State state) { return state >= State::kRuledOut; }));
    return std::move(result_);
  }

 private:
  enum class State : std::uint8_t {
    kOpen,
    kTried,
    kRuledOut,  // needs too much, or can't be applied to this script
    kUnproven   // what it adds to broke the script or was a close call: nobody knows
  };

  double elapsed() const { return base::seconds_between(started_ns_, clock_.now_ns()); }

  bool may_run() {
    if (stopped_) return false;
    if (elapsed() + longest_run_ <= options_.budget_seconds) return true;
    stopped_ = true;
    result_.ending = Ending::kBudgetUsed;
    return false;
  }

  Ending ending(bool cheapest_known) const {
    if (result_.error) return result_.ending;
    if (cheapest_known) return Ending::kCheapestProven;
    if (stopped_) return Ending::kBudgetUsed;
    return is_anything_unknown() ? Ending::kNothingProven : Ending::kNothingFits;
  }

  // Whether a candidate is left that was neither run out of memory nor is weaker than one that was.
  bool is_anything_unknown() const {
    std::vector<const Candidate*> unknown;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (state_[i] == State::kUnproven) unknown.push_back(&candidates_[i]);
    }
    for (const PlanTrial& trial : result_.trials) {
      const Outcome outcome = trial.proof.outcome;
      if (outcome != Outcome::kOutOfMemory && outcome != Outcome::kRefused) unknown.push_back(&trial.candidate);
    }
    for (const PlanTrial& trial : result_.trials) {
      if (trial.proof.outcome != Outcome::kOutOfMemory) continue;
      std::erase_if(unknown, [&](const Candidate* candidate) { return is_at_most(*candidate, trial.candidate); });
    }
    return !unknown.empty();
  }

  // What a candidate is predicted to need: played, where that can be and there is time, for those that decide.
  Bytes needs_of(std::size_t index) {
    const Candidate& candidate = candidates_[index];
    if (!player_.is_sound()) return candidate.needs;
    if (!played_[index].is_known) {
      const bool is_worth_it = is_near(candidate.needs, static_cast<double>(target_.limit.count()));
      if (!is_worth_it || play_seconds_ > kMostPlaySeconds) return candidate.needs;
      const std::int64_t began_ns = clock_.now_ns();
      const auto outlook = play(job_, target_, axes_, candidate, player_);
      played_[index] = {true, outlook ? outlook->needs : candidate.needs, outlook ? outlook->least : Bytes(),
                        outlook ? outlook->made_by : MadeBy::kAddedUp};
      play_seconds_ += base::seconds_between(began_ns, clock_.now_ns());
    }
    return played_[index].needs;
  }

  // Of what was played: below that no cache and no luck with segments brings it.
  double least_of(std::size_t index) const { return static_cast<double>(played_[index].least.count()); }

  double excess_of(std::size_t index) const {
    if (!played_[index].is_known) return options_.hopeless_excess + candidates_[index].uncertainty;
    const MadeBy made = played_[index].by;
    if (made == MadeBy::kAddedUp || is_unmeasured(made)) return options_.hopeless_excess_played + kPlayedUncertainty;
    return options_.hopeless_excess_seen;
  }

  // How far off a played forecast may be, up to which a run is worth it. A change that might have been measured is not
  // run for the width of its interval alone.
  MadeBy made_by(std::size_t index) const {
    const MadeBy made = played_[index].by;
    return is_unmeasured(made) ? MadeBy::kCombined : made;
  }
  static bool is_unmeasured(MadeBy made) {
    return made == MadeBy::kUnmeasuredLives || made == MadeBy::kUnmeasuredSizes;
  }

  // Never one whose interval reaches down to the card, as far as what tensors hold at once allows; always one whose
  // changes were all seen, and whose interval does not.
  bool is_hopeless(std::size_t index) {
    const double needs = static_cast<double>(needs_of(index).count()), least = least_of(index);
    const double limit = static_cast<double>(target_.limit.count());
    if (least > limit * (1 + options_.hopeless_excess_held)) return true;
    if (lowest_of(needs, made_by(index)) <= limit) return false;
    return needs > limit * (1 + excess_of(index));
  }

  // Runs one candidate and draws the conclusions; false when it did not fit or no run was possible.
  bool try_candidate(std::size_t index, std::string_view stage) {
    Explained explained = explain(job_, target_, axes_, candidates_[index], &player_);
    if (on_trial_) on_trial_(explained.plan, explained.outlook, result_.trials.size(), stage);
    const double before = elapsed();
    base::Result<Proof> proof = prover_.prove(explained.plan, options_.budget_seconds - before);
    if (!proof) {
      stopped_ = true;
      result_.error = proof.error();
      result_.ending = proof.error().code == base::ErrorCode::kInterrupted ? Ending::kInterrupted : Ending::kFailed;
      return false;
    }
    longest_run_ = std::max(longest_run_, elapsed() - before);
    state_[index] = State::kTried;
    draw_conclusions(index, *proof);
    result_.trials.push_back({candidates_[index], std::move(explained.plan), std::move(explained.outlook),
                              std::move(explained.consequences), std::move(*proof)});
    if (best_ == index) result_.best = result_.trials.size() - 1;
    return result_.trials.back().proof.outcome == Outcome::kFits;
  }

  void draw_conclusions(std::size_t index, const Proof& proof) {
    switch (proof.outcome) {
      case Outcome::kFits:
        if (best_ == kNone || index < best_) best_ = index;
        break;
      case Outcome::kOutOfMemory:
        rule_out_weaker(proof.phase, index);
        break;
      case Outcome::kBorderline:
        rule_out(State::kUnproven, [&](const Candidate& other) { return is_at_most(other, candidates_[index]); });
        break;
      case Outcome::kRefused:
        rule_out_broken(State::kRuledOut, candidates_[index], proof.refused);
        break;
      case Outcome::kTimedOut:
        // When it was the budget that ended it, this is no word on the plan.
        if (elapsed() >= options_.budget_seconds) {
          stopped_ = true;
          break;
        }
        [[fallthrough]];
      case Outcome::kFailed:
        rule_out_broken(State::kUnproven, candidates_[index], proof.refused);
        break;
    }
  }

  // The job as it is ran out: what leaves that phase as it is does not help.
  void learn_from_job() {
    if (!job_.oom) return;
    Candidate as_is;
    as_is.levels.assign(axes_.size(), 0);
    rule_out_in(job_.oom->phase, as_is);
  }

  // What ran out in a phase does so again with whatever else changes other phases.
  void rule_out_in(const std::string& phase, const Candidate& failed) {
    const std::vector<bool>& touched = axes_of(phase);
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) matters_[axis] = matters_[axis] || touched[axis];
    rule_out(State::kRuledOut, [&](const Candidate& other) { return is_at_most_on(touched, other, failed); });
  }

  // Segments may come out worse with a change more: what is weaker, and was played to need less, is not ruled out.
  void rule_out_weaker(const std::string& phase, std::size_t failed) {
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const bool needs_less =
          played_[i].is_known && played_[failed].is_known && played_[i].needs < played_[failed].needs;
      if (state_[i] == State::kOpen && needs_less) kept.push_back(i);
    }
    rule_out_in(phase, candidates_[failed]);
    for (const std::size_t i : kept) state_[i] = State::kOpen;
  }

  const std::vector<bool>& axes_of(const std::string& phase) {
    auto known = axes_of_phase_.find(phase);
    if (known == axes_of_phase_.end()) {
      known = axes_of_phase_.emplace(phase, find_axes_of(job_, target_, axes_, phase)).first;
    }
    return known->second;
  }

  template <typename Predicate>
  void rule_out(State as, Predicate predicate) {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (state_[i] == State::kOpen && predicate(candidates_[i])) state_[i] = as;
    }
  }

  // A refused technique is out in every combination; so is one that broke the script on its own. What broke it in
  // combination breaks it with more on top, and says nothing about less.
  void rule_out_broken(State as, const Candidate& broken, const std::vector<std::string>& refused) {
    rule_out(as, [&](const Candidate& other) { return is_at_most(broken, other); });
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (broken.levels[axis] == 0) continue;
      const std::string& id = axes_[axis].options[broken.levels[axis] - 1].technique;
      if (broken.changes > 1 && std::ranges::find(refused, id) == refused.end()) continue;
      rule_out(as, [&](const Candidate& other) { return other.levels[axis] > 0; });
    }
  }

  // What puts the script's own fault right, one at a time: the mildest of its options that fits.
  void try_mends() {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
      if (!axes_[axis].technique->mends_cause(job_)) continue;
      const std::vector<std::size_t> chain = find_chain(axis);
      std::size_t low = 0, high = chain.size();  // chain[high] is known to fit, chain[low - 1] not to
      std::size_t probe = find_predicted(chain, low, high);
      while (low < high && state_[chain[probe]] == State::kOpen && may_run()) {
        if (try_candidate(chain[probe], "one change")) {
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
    std::vector<std::size_t> chain(axes_[axis].options.size(), kNone);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const auto level = candidates_[i].levels[axis];
      if (candidates_[i].changes == 1 && level > 0) chain[level - 1U] = i;
    }
    std::erase(chain, kNone);  // what the target does not accept
    return chain;
  }

  std::size_t find_predicted(const std::vector<std::size_t>& chain, std::size_t low, std::size_t high) {
    for (std::size_t i = low; i < high; ++i) {
      if (needs_of(chain[i]) <= target_.limit) return i;
    }
    return high > low ? high - 1 : low;
  }

  // The cheapest of the first `end` candidates that is predicted to fit. After each disappointment what a prediction
  // may be off is asked for once more.
  std::size_t find_promising(std::size_t end) {
    return find_first_open(end, [&](std::size_t i) {
      const double needs = static_cast<double>(needs_of(i).count());
      // A stream that was played is near enough: what it says is put to the test first.
      const bool is_played = played_[i].is_known && played_[i].by != MadeBy::kAddedUp;
      const double further = is_played ? error_of(made_by(i)) : kFurther;
      const double safety = (played_[i].is_known ? 0 : options_.safety) + further * disappointments_;
      return needs <= static_cast<double>(target_.limit.count()) * (1 - safety);
    });
  }

  // When nothing promising is left, or the forecast has been wrong a few times, whatever frees most is run: only that
  // can prove that nothing fits, and it rules out most.
  void secure() {
    for (int run = 1; best_ == kNone && may_run(); ++run) {
      std::size_t next = run % kRunsToTrust == 0 ? kNone : find_promising(candidates_.size());
      if (next == kNone) next = find_smallest_open(candidates_.size(), [](std::size_t) { return true; });
      if (next == kNone) return;
      if (!try_candidate(next, "combinations")) ++disappointments_;
    }
  }

  // Those cheaper than the best: the promising ones in the order of cost, so that the first to fit ends it; then the
  // strongest of the doubtful ones, so that one failure rules out many.
  void improve() {
    while (true) {
      std::size_t next = find_promising(best_);
      if (next == kNone)
        next = find_smallest_open(best_, [&](std::size_t i) { return !is_hopeless(i) && is_worth_a_run(i); });
      if (next == kNone || !may_run()) return;
      if (!try_candidate(next, "cheaper ones")) ++disappointments_;
    }
  }

  // What is predicted to need more than the card has is run for a gain that people would notice.
  bool is_worth_a_run(std::size_t index) {
    return needs_of(index) <= target_.limit || gain_of(candidates_[index], candidates_[best_]) >= options_.noticed;
  }

  // Each run rules out all that is weaker than what it was of. Only for what takes less from the training than the
  // best, or changes less.
  void doubt_forecast() {
    for (int run = 0; options_.doubts_forecast && run < kRunsInDoubt; ++run) {
      const Candidate& best = candidates_[best_];
      const std::size_t next = find_smallest_open(best_, [&](std::size_t i) {
        const Candidate& one = candidates_[i];
        return (tier_of(one.effect) < tier_of(best.effect) || one.changes < best.changes) && is_thinkable(i);
      });
      if (next == kNone || elapsed() + kDoubtShare * longest_run_ > options_.budget_seconds) break;
      if (!may_run()) return;
      if (try_candidate(next, "against the forecast")) improve();
    }
    const auto cheaper = state_.begin() + static_cast<std::ptrdiff_t>(best_);
    result_.only_foreseen = static_cast<std::size_t>(std::count(state_.begin(), cheaper, State::kOpen));
  }

  bool is_thinkable(std::size_t index) {
    return static_cast<double>(needs_of(index).count()) <= static_cast<double>(target_.limit.count()) * kThinkable;
  }

  // The cheapest may leave nothing to spare, or fit only because PyTorch empties its cache again and again, which costs
  // time that no model knows. One with room takes its place when it costs little more.
  void make_room() {
    double most = static_cast<double>(target_.limit.count()) * (1 - kRoom);
    for (int run = 0; run < kRunsForRoom && is_tight_candidate(best_); ++run) {
      const Candidate& tight = candidates_[best_];
      const std::vector<bool>& touched = axes_of(result_.trials[*result_.best].proof.phase);
      const std::size_t next = find_first_open(candidates_.size(), [&](std::size_t i) {
        const Candidate& candidate = candidates_[i];
        return i > best_ && !is_at_most_on(touched, candidate, tight) &&
               tier_of(candidate.effect) <= std::max(tier_of(tight.effect), Tier::kRounding) &&
               candidate.time_factor <= tight.time_factor * kCostOfRoom &&
               static_cast<double>(needs_of(i).count()) <= most;
      });
      if (next == kNone || !may_run()) return;
      most = static_cast<double>(needs_of(next).count()) * (1 - kRoom);
      if (try_candidate(next, "with room") && !is_tight_candidate(next)) {
        best_ = next;
        result_.best = result_.trials.size() - 1;
      }
    }
  }

  bool is_tight_candidate(std::size_t index) const {
    return std::ranges::any_of(result_.trials, [&](const PlanTrial& trial) {
      return trial.candidate == candidates_[index] && is_tight(trial.proof, target_.limit);
    });
  }

  // Other kinds of plan: a set of techniques that contains none of those shown already.
  void widen() {
    int wanted = options_.alternatives;
    for (const PlanTrial& trial : result_.trials) wanted -= trial.proof.outcome == Outcome::kFits ? 1 : 0;
    while (wanted >= 0 && (!options_.runs_alternatives || may_run())) {
      const std::size_t next = find_first_open(candidates_.size(), [&](std::size_t i) {
        return is_another_kind(candidates_[i]) &&
               static_cast<double>(needs_of(i).count()) <=
                   static_cast<double>(target_.limit.count()) * (1 - options_.safety);
      });
      if (next == kNone) return;
      if (options_.runs_alternatives) {
        if (try_candidate(next, "alternatives")) --wanted;
      } else {
        result_.foreseen.push_back({candidates_[next], explain(job_, target_, axes_, candidates_[next], &player_)});
        --wanted;
      }
    }
    // What is still open is not needed for the answer: running out of time here does not matter.
    if (!result_.error) stopped_ = false;
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

  template <typename Predicate>
  std::size_t find_first_open(std::size_t end, Predicate predicate) const {
    for (std::size_t i = 0; i < end; ++i) {
      if (state_[i] == State::kOpen && predicate(i)) return i;
    }
    return kNone;
  }

  // Of the first `end` (the cheapest) candidates, the open one that is predicted to need least; of equals, the one that
  // does most where memory ran out: its failure rules out the others. What changes other phases only is no help.
  template <typename Predicate>
  std::size_t find_smallest_open(std::size_t end, Predicate predicate) {
    std::size_t smallest = kNone;
    for (std::size_t i = 0; i < end; ++i) {
      if (state_[i] != State::kOpen || !predicate(i)) continue;
      if (smallest == kNone || is_stronger(i, smallest)) smallest = i;
    }
    return smallest;
  }

  bool is_stronger(std::size_t left, std::size_t right) {
    if (needs_of(left) != needs_of(right)) return needs_of(left) < needs_of(right);
    const bool is_known = std::ranges::find(matters_, true) != matters_.end();
    const auto sum = [&](std::size_t one) {
      int levels = 0;
      for (std::size_t axis = 0; axis < axes_.size(); ++axis) {
        if (!is_known || matters_[axis]) levels += candidates_[one].levels[axis];
      }
      return levels;
    };
    return sum(left) > sum(right);
  }

  const model::Job& job_;
  const Target& target_;
  const std::vector<Axis>& axes_;
  Prover& prover_;
  const SearchOptions& options_;
  const base::Clock& clock_;
  const OnTrial& on_trial_;
  const std::int64_t started_ns_;
  const std::vector<Candidate> candidates_;  // cheapest first: an index is also a rank
  std::vector<State> state_;
  std::map<std::string, std::vector<bool>> axes_of_phase_;
  std::vector<bool> matters_;  // axes that change a phase in which memory ran out
  std::size_t best_ = kNone;
  StreamPlayer player_;
  struct PlayedNeeds {
    bool is_known = false;
    Bytes needs, least;
    MadeBy by = MadeBy::kAddedUp;
  };
  std::vector<PlayedNeeds> played_;  // by candidate
  double play_seconds_ = 0;
  int disappointments_ = 0;
  double longest_run_ = 0;
  bool stopped_ = false;
  SearchResult result_;
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

bool is_foreseen_to_fit(const model::Job& job, const Target& target, const std::vector<Axis>& axes) {
  constexpr std::size_t kMostPlayed = 200;
  const double most = static_cast<double>(target.limit.count()) * (1 - SearchOptions{}.safety);
  const auto fits = [&](Bytes needs) { return static_cast<double>(needs.count()) <= most; };
  const StreamPlayer player(job);
  std::size_t played = 0;
  for (const Candidate& candidate : build_candidates(job, target, axes)) {
    if (!player.is_sound() && fits(candidate.needs)) return true;
    if (!player.is_sound()) continue;
    if (!is_near(candidate.needs, most)) continue;
    if (++played > kMostPlayed) return false;
    const auto outlook = play(job, target, axes, candidate, player);
    if (fits(outlook ? outlook->needs : candidate.needs)) return true;
  }
  return false;
}

SearchResult search(const model::Job& job, const Target& target, const std::vector<Axis>& axes, Prover& prover,
                    const SearchOptions& options, const base::Clock& clock, const OnTrial& on_trial) {
  return Search(job, target, axes, prover, options, clock, on_trial).run();
}

}  // namespace vramfit::plan
