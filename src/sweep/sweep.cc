#include "sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/interrupt.h"
#include "ingest/plan_file.h"
#include "sweep/largest_search.h"
#include "sweep/variables.h"

namespace vramfit::sweep {

using base::Result;
using model::Trial;
using model::TrialState;

namespace {

constexpr int kMostAttempts = 2;  // of a trial that is lost: a cluster's node may fail, a machine may be out of memory

// One sweep from start to end.
class Sweep {
 public:
  Sweep(const model::SweepSpec& spec, const SweepFolder& folder, TrialRunner& runner, const OnTrial& on_trial,
        base::ProgressSink& progress, const Retry& retry)
      : folder_(folder), runner_(runner), on_trial_(on_trial), progress_(progress), retry_(retry) {
    result_.spec = spec;
    result_.folder = folder.path().string();
  }

  Result<model::SweepResult> run() {
    const base::InterruptScope interrupts;
    if (auto known = take_known(); !known) return std::unexpected(known.error());
    if (auto planned = plan_trials(); !planned) return std::unexpected(planned.error());
    while (!waiting_.empty() || running_ > 0) {
      if (base::was_interrupted()) {
        runner_.cancel();
        result_.interrupted = true;
        for (Trial& trial : result_.trials) {
          if (trial.state == TrialState::kRunning) trial.state = TrialState::kWaiting;
        }
        break;
      }
      if (auto started = start_waiting(); !started) return stop(started.error());
      show_progress();
      const auto ended = runner_.wait();
      if (!ended) return stop(ended.error());
      for (const std::size_t trial : *ended) {
        if (auto done = take_end(trial); !done) return stop(done.error());
      }
    }
    for (Trial& trial : result_.trials) trial.run = folder_.read_run(trial.index);
    for (std::size_t i = 0; i < searches_.size(); ++i) result_.largest.push_back(searches_[i].answer(groups_[i]));
    return std::move(result_);
  }

 private:
  std::unexpected<base::Error> stop(const base::Error& error) {
    runner_.cancel();
    return std::unexpected(error);
  }

  // Trials that an earlier sweep in this folder numbered.
  Result<void> take_known() {
    for (std::size_t i = 0; i < folder_.count(); ++i) {
      auto values = folder_.read_values(i);
      if (!values) return std::unexpected(values.error());
      Trial trial{.index = i, .values = std::move(*values)};
      const auto result = folder_.read_result(i);
      // What failed may have failed for a reason that is gone by now, and what took too long may have more time: the
      // sweep is taken up to try again.
      if (result && !is_tried_again(result->verdict)) {
        trial.state = TrialState::kDone;
        trial.result = *result;
      }
      numbers_[trial.values] = i;
      result_.trials.push_back(std::move(trial));
    }
    return {};
  }

  bool is_tried_again(const std::string& verdict) const {
    return std::ranges::any_of(retry_, [&](const std::string& one) { return one == verdict || one == "all"; });
  }

  Result<void> plan_trials() {
    groups_ = combine(result_.spec.variables);
    if (!result_.spec.goal) {
      for (const auto& values : groups_) {
        if (auto wanted = want(values); !wanted) return wanted;
      }
      return {};
    }
    searches_.assign(groups_.size(), LargestSearch(result_.spec.goal->low, result_.spec.goal->high));
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (auto advanced = advance(i); !advanced) return advanced;
    }
    return {};
  }

  // Goes on with one search: through what is known already, to the next number that has to be run.
  Result<void> advance(std::size_t group) {
    while (const auto number = searches_[group].next()) {
      std::vector<std::string> values = groups_[group];
      values.push_back(std::to_string(*number));
      const auto known = numbers_.find(values);
      if (known == numbers_.end() || result_.trials[known->second].state != TrialState::kDone) return want(values);
      searches_[group].tell(*number, result_.trials[known->second].result);
      on_trial_(result_.trials[known->second], true);
    }
    return {};
  }

  Result<void> want(const std::vector<std::string>& values) {
    auto known = numbers_.find(values);
    if (known == numbers_.end()) {
      const std::size_t index = result_.trials.size();
      if (auto written = write_trial(index, values); !written) return written;
      result_.trials.push_back({.index = index, .values = values});
      known = numbers_.emplace(values, index).first;
    }
    Trial& trial = result_.trials[known->second];
    if (trial.state == TrialState::kDone) {
      on_trial_(trial, true);
    } else {
      waiting_.push_back(trial.index);
    }
    return {};
  }

  // The plan first: the values' file says that the trial is ready.
  Result<void> write_trial(std::size_t index, const std::vector<std::string>& values) {
    const auto command = build_trial(result_.spec, values);
    if (!command) return std::unexpected(command.error());
    if (!command->plan.changes.empty()) {
      if (auto written = ingest::write_plan(folder_.plan_file(index), command->plan); !written) return written;
    }
    return folder_.write_values(index, values);
  }

  Result<void> start_waiting() {
    std::vector<std::size_t> batch;
    for (std::size_t room = runner_.room(); room > 0 && !waiting_.empty(); --room) {
      batch.push_back(waiting_.front());
      waiting_.pop_front();
    }
    if (batch.empty()) return {};
    for (const std::size_t trial : batch) result_.trials[trial].state = TrialState::kRunning;
    running_ += batch.size();
    return runner_.start(batch);
  }

  Result<void> take_end(std::size_t index) {
    --running_;
    Trial& trial = result_.trials[index];
    const auto told = folder_.read_result(index);
    if (!told && !base::was_interrupted() && ++attempts_[index] < kMostAttempts) {
      trial.state = TrialState::kWaiting;
      waiting_.push_back(index);
      return {};
    }
    trial.state = told ? TrialState::kDone : TrialState::kLost;
    if (told) trial.result = *told;
    if (!base::was_interrupted() || told) on_trial_(trial, false);
    if (searches_.empty()) return {};
    const std::size_t group = group_of(trial.values);
    if (told) {
      searches_[group].tell(std::stoll(trial.values.back()), trial.result);
    } else {
      searches_[group].give_up(fmt::format("{}: it ended without a result", trial.values.back()));
    }
    return base::was_interrupted() ? Result<void>() : advance(group);
  }

  std::size_t group_of(const std::vector<std::string>& values) const {
    const std::vector<std::string> others(values.begin(), values.end() - 1);
    return static_cast<std::size_t>(std::ranges::find(groups_, others) - groups_.begin());
  }

  void show_progress() {
    const auto done = std::ranges::count(result_.trials, TrialState::kDone, &Trial::state);
    progress_.update(fmt::format("{} trials done, {} running, {} waiting", done, running_, waiting_.size()));
  }

  const SweepFolder& folder_;
  TrialRunner& runner_;
  const OnTrial& on_trial_;
  base::ProgressSink& progress_;
  const Retry& retry_;
  model::SweepResult result_;
  std::vector<std::vector<std::string>> groups_;  // combinations of the variables
  std::vector<LargestSearch> searches_;           // one a group, with a goal
  std::map<std::vector<std::string>, std::size_t> numbers_;
  std::map<std::size_t, int> attempts_;
  std::deque<std::size_t> waiting_;
  std::size_t running_ = 0;
};

}  // namespace

Result<model::SweepResult> sweep(const model::SweepSpec& spec, const SweepFolder& folder, TrialRunner& runner,
                                 const OnTrial& on_trial, base::ProgressSink& progress, const base::Clock& clock,
                                 const Retry& retry) {
  if (auto prepared = folder.prepare(spec); !prepared) return std::unexpected(prepared.error());
  const std::int64_t began = clock.now_ns();
  auto result = Sweep(spec, folder, runner, on_trial, progress, retry).run();
  if (result) result->seconds = base::seconds_between(began, clock.now_ns());
  progress.clear();
  return result;
}

}  // namespace vramfit::sweep
