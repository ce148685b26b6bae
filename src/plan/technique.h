// One way to make a job smaller. Each lives in a file of its own under techniques/ and is listed in registry.cc;
// nothing else of the search knows it. What plans may say, promise and change in a script: "Add a technique" in
// CONTRIBUTING.md.
#ifndef VRAMFIT_PLAN_TECHNIQUE_H
#define VRAMFIT_PLAN_TECHNIQUE_H

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/card.h"
#include "model/job.h"
#include "model/plan.h"
#include "plan/forecast.h"

namespace vramfit::plan {

// Ampere: cards before it compute in bfloat16 by other means, if at all.
inline constexpr model::ComputeCapability kFirstWithBf16 = {8, 0};

// What makes one of the plans that fit the best.
enum class Goal {
  kSameTraining,  // the one that takes least from the training; of those, the fastest
  kMinTime,       // the fastest, whatever it takes from the training
  kMinMemory      // the one that needs least
};

// What the job has to fit, and what the user holds on to.
struct Target {
  model::Card card;
  Bytes limit;                         // of the card, overhead included
  bool keep_effective_batch = true;    // --keep effective-batch
  Tier accept = Tier::kAnother;        // --accept: no plan takes more from the training
  std::optional<double> max_slowdown;  // --max-slowdown: times a step of now
  Goal goal = Goal::kSameTraining;     // --goal
};

enum class Standing { kApplicable, kInForce, kNotPossible };

struct Applicability {
  Standing standing = Standing::kApplicable;
  std::string reason;  // why not; empty when applicable
  bool operator==(const Applicability&) const = default;
};

inline Applicability applicable() { return {}; }
inline Applicability in_force(std::string reason) { return {Standing::kInForce, std::move(reason)}; }
inline Applicability not_possible(std::string reason) { return {Standing::kNotPossible, std::move(reason)}; }

// The phases in which a technique changes what a job does: what --phase goes by.
enum class ActsIn { kAnyPhase, kTraining, kEvaluations };

class Technique {
 public:
  virtual ~Technique() = default;
  // What --only and --deny call it.
  virtual std::string_view id() const = 0;
  virtual Applicability applies_to(const model::Job& job, const Target& target) const = 0;
  // Only asked when applicable. In order of strength: each frees at least as much memory as the one before it.
  virtual std::vector<model::Change> options(const model::Job& job, const Target& target) const = 0;
  virtual void predict(const model::Job& job, const Target& target, const model::Change& change,
                       Forecast& forecast) const = 0;
  // A few words: "micro-batch 2 x 4".
  virtual std::string describe(const model::Change& change) const = 0;
  virtual ActsIn acts_in() const { return ActsIn::kAnyPhase; }
  // Two techniques that turn the same knob share a slot and are never combined.
  virtual std::string_view slot() const { return id(); }
  // A change whose effect on memory is better measured than modelled, where the job allows: one run more, with plenty.
  virtual std::optional<model::Change> find_measurable(const model::Job&, const Target&) const { return std::nullopt; }
  // Whether all that it does is to let blocks go earlier, so that no moment of the job holds more than before: nothing
  // is made anew, brought back, added up or made in another order.
  virtual bool only_lets_go() const { return false; }
  // Whether it is foretold well enough without that run for a plan to be tried before it is made.
  virtual bool is_foretold_unmeasured() const { return false; }
  // The changes to run where each of several options is another job: a run for each.
  virtual std::vector<model::Change> find_all_measurable(const model::Job& job, const Target& target) const {
    const auto one = find_measurable(job, target);
    return one ? std::vector{*one} : std::vector<model::Change>{};
  }
  // Another technique whose measuring run shows when blocks are needed last, where this one's forecast has to know it
  // and nothing else of the job tells; null: none is needed, or there is none.
  virtual const Technique* find_witness(const model::Job&, const Target&) const { return nullptr; }
  // Whether it puts right what is wrong with the script itself (plan/cause): such a change is tried before all others
  // and is not held against a plan.
  virtual bool mends_cause(const model::Job&) const { return false; }
};

// The applicability by the job's figures, and by what its script was seen to do.
inline Applicability find_applicability(const Technique& technique, const model::Job& job, const Target& target) {
  Applicability found = technique.applies_to(job, target);
  if (found.standing != Standing::kApplicable) return found;
  std::string obstacle = model::find_obstacle(job, technique.id());
  return obstacle.empty() ? found : not_possible(std::move(obstacle));
}

}  // namespace vramfit::plan

#endif
