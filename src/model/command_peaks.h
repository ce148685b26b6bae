// What a command took of each card at most: `vramfit watch -- command`.
#ifndef VRAMFIT_MODEL_COMMAND_PEAKS_H
#define VRAMFIT_MODEL_COMMAND_PEAKS_H

#include <cstdint>
#include <string>
#include <vector>

#include "model/machine.h"

namespace vramfit::model {

struct CardPeak {
  std::string uuid, name, session;
  Reading index, total_bytes;
  Reading peak_bytes;         // of the command and its descendants together
  Reading card_before_bytes;  // of the whole card, before the command began
  Reading card_peak_bytes;    // of the whole card, everybody included
  double at_seconds = 0;      // when the command's own peak was, since it began
  int processes = 0;          // of the command that were seen on the card
  bool exact = false;         // the virtual card counted every allocation; otherwise it was sampled
  friend bool operator==(const CardPeak&, const CardPeak&) = default;
};

struct CommandPeaks {
  std::string command;
  int exit_code = 0;
  double wall_seconds = 0;
  std::int64_t host_peak_bytes = 0;  // resident, of the largest single process
  double interval_seconds = 0.01;
  std::int64_t samples = 0;
  double longest_gap_seconds = 0;  // between two samples: a peak shorter than this may have been missed
  std::string driver_problem;
  std::vector<CardPeak> cards;  // those the command used, then those that others used more of meanwhile
  friend bool operator==(const CommandPeaks&, const CommandPeaks&) = default;
};

}  // namespace vramfit::model

#endif
