// What techniques that take an optimizer's parameters one by one, or some at a time, have in common.
#ifndef VRAMFIT_PLAN_TECHNIQUES_ONE_BY_ONE_H
#define VRAMFIT_PLAN_TECHNIQUES_ONE_BY_ONE_H

#include <algorithm>
#include <array>
#include <string_view>

#include "model/number_text.h"
#include "plan/technique.h"

namespace vramfit::plan {

// Those of python/vramfit/apply/one_by_one.py.
inline bool treats_parameters_one_by_one(std::string_view optimizer) {
  static constexpr std::array<std::string_view, 12> kOneByOne = {"Adadelta", "Adafactor", "Adagrad", "Adam",
                                                                 "AdamW",    "Adamax",    "ASGD",    "NAdam",
                                                                 "RAdam",    "RMSprop",   "Rprop",   "SGD"};
  return std::ranges::find(kOneByOne, optimizer) != kOneByOne.end();
}

inline Bytes find_peak(const model::Job& job) {
  Bytes peak;
  for (const model::StagePeak& moment : job.stage_peaks) peak = std::max(peak, sum(moment.holdings));
  return peak;
}

// While it trains.
inline Bytes gradients_at_most(const model::Job& job) {
  Bytes most;
  for (const model::StagePeak& moment : job.stage_peaks) {
    if (moment.phase == model::phase::kTrain) most = std::max(most, moment.holdings.gradients);
  }
  return most;
}

}  // namespace vramfit::plan

#endif
