// Which candidates of a search are still open. Each run that fails rules out others: by the law of candidate.h what
// frees less fails too.
#ifndef VRAMFIT_PLAN_SEARCH_OPEN_CANDIDATES_H
#define VRAMFIT_PLAN_SEARCH_OPEN_CANDIDATES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plan/search/candidate.h"
#include "plan/search/predicted_needs.h"

namespace vramfit::plan {

class OpenCandidates {
 public:
  OpenCandidates(const model::Job& job, const Target& target, const std::vector<Axis>& axes,
                 const std::vector<Candidate>& candidates)
      : job_(job),
        target_(target),
        axes_(axes),
        candidates_(candidates),
        state_(candidates.size(), State::kOpen),
        matters_(axes.size(), false) {}

  bool is_open(std::size_t candidate) const { return state_[candidate] == State::kOpen; }
  bool is_unproven(std::size_t candidate) const { return state_[candidate] == State::kUnproven; }
  std::size_t count_closed_without_run() const;   // ruled out, or left unproven
  std::size_t count_open(std::size_t end) const;  // among the first `end`

  void set_tried(std::size_t candidate) { state_[candidate] = State::kTried; }

  // The job as it is ran out of memory in some phase: so does whatever leaves that phase as it is.
  void learn_from_job();
  // A candidate ran out of memory in this phase.
  void rule_out_weaker(const std::string& phase, std::size_t failed, const PredictedNeeds& needs);
  // It fits or not by less than the context's size is known: nobody knows of what frees less.
  void leave_unproven_below(std::size_t borderline);
  // The script refused these techniques, or failed (`refused` is empty) and nobody knows why.
  void rule_out_refused(const Candidate& broken, const std::vector<std::string>& refused);
  void leave_unproven_above(const Candidate& broken, const std::vector<std::string>& refused);

  // Whether each axis changes what is held in this phase.
  const std::vector<bool>& axes_of(const std::string& phase);
  // Whether each axis changes a phase in which memory ran out. All false while none has.
  const std::vector<bool>& matters() const { return matters_; }

 private:
  enum class State : std::uint8_t {
    kOpen,
    kTried,
    kRuledOut,  // it needs too much, or can't be applied to this script
    kUnproven   // a part of it broke the script or was a close call: nobody knows whether it would fit
  };

  void rule_out(State as, const std::function<bool(const Candidate&)>& is_meant);
  void rule_out_in(const std::string& phase, const Candidate& failed);
  void rule_out_broken(State as, const Candidate& broken, const std::vector<std::string>& refused);

  const model::Job& job_;
  const Target& target_;
  const std::vector<Axis>& axes_;
  const std::vector<Candidate>& candidates_;
  std::vector<State> state_;  // by candidate
  std::map<std::string, std::vector<bool>> axes_of_phase_;
  std::vector<bool> matters_;
};

}  // namespace vramfit::plan

#endif
