// Sweeps as tests need them.
#ifndef VRAMFIT_REPORT_TESTING_SWEEPS_H
#define VRAMFIT_REPORT_TESTING_SWEEPS_H

#include <string>
#include <utility>
#include <vector>

#include "model/sweep.h"

namespace vramfit::report::testing {

inline model::Trial trial_of(std::vector<std::string> values, std::string verdict, std::int64_t mib) {
  model::Trial trial{
      .index = 0, .values = std::move(values), .state = model::TrialState::kDone, .result = {}, .run = {}};
  trial.result.verdict = std::move(verdict);
  trial.result.peaks = model::Peaks{base::Bytes::mib(mib), base::Bytes::mib(mib), base::Bytes::mib(mib)};
  trial.result.total = base::Bytes::gib(8);
  return trial;
}

//   batch \ --width    256        512         1024
//   2                 fits       fits     borderline
//   40                fits        OOM         OOM
//   80                 OOM    (not run)      failed
inline model::SweepResult matrix() {
  model::SweepResult sweep;
  sweep.spec.command = {"train.py"};
  sweep.spec.gpus = {"test"};
  sweep.spec.variables = {{"batch", {"2", "40", "80"}}, {"--width", {"256", "512", "1024"}}};
  sweep.trials = {trial_of({"2", "256"}, "fits", 1024),           trial_of({"2", "512"}, "fits", 2048),
                  trial_of({"2", "1024"}, "borderline", 8100),    trial_of({"40", "256"}, "fits", 6144),
                  trial_of({"40", "512"}, "out_of_memory", 7000), trial_of({"40", "1024"}, "out_of_memory", 7100),
                  trial_of({"80", "256"}, "out_of_memory", 7200), trial_of({"80", "1024"}, "failed", 10)};
  for (std::size_t i = 0; i < sweep.trials.size(); ++i) sweep.trials[i].index = i;
  sweep.trials.back().result.reason = "no such file: /data/secret";
  sweep.folder = "/data/sweep";
  sweep.seconds = 12;
  return sweep;
}

// The largest batch for two modes: 12 of amp=off, none of amp=bf16.
inline model::SweepResult search() {
  model::SweepResult sweep;
  sweep.spec.command = {"train.py"};
  sweep.spec.gpus = {"test"};
  sweep.spec.variables = {{"amp", {"off", "bf16"}}};
  sweep.spec.goal = model::SweepGoal{"batch", 1, 512};
  sweep.trials = {trial_of({"off", "1"}, "fits", 600),           trial_of({"off", "8"}, "fits", 5400),
                  trial_of({"off", "12"}, "fits", 8000),         trial_of({"off", "13"}, "out_of_memory", 8100),
                  trial_of({"off", "16"}, "failed", 10),         trial_of({"off", "64"}, "out_of_memory", 7800),
                  trial_of({"bf16", "1"}, "out_of_memory", 8000)};
  for (std::size_t i = 0; i < sweep.trials.size(); ++i) sweep.trials[i].index = i;
  sweep.largest = {{{"off"}, 12, 13, ""}, {{"bf16"}, std::nullopt, 1, ""}};
  return sweep;
}

}  // namespace vramfit::report::testing

#endif
