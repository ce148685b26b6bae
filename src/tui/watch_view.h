// What the screen says, as words and numbers in order: no positions, no colours but a level of alarm.
#ifndef VRAMFIT_TUI_WATCH_VIEW_H
#define VRAMFIT_TUI_WATCH_VIEW_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/machine.h"
#include "tui/watch_state.h"

namespace vramfit::tui {

enum class Level : std::uint8_t { kQuiet, kNote, kBad };

struct Remark {
  Level level = Level::kNote;
  std::string text;
  friend bool operator==(const Remark&, const Remark&) = default;
};

// "-" stands for whatever is not known.
struct CardView {
  std::string uuid;             // whole, to find its history
  std::string index, name, id;  // id: the UUID's first digits, or the session of a virtual card
  std::optional<double> fraction;
  std::string used, total, busy, temperature, power, clock;
  std::string links;  // PCIe, NVLink, ECC: one line of details; may be empty
  std::vector<Remark> remarks;
  bool is_slice = false;
  bool is_lost = false;
  bool is_throttled = false;
};

struct ProcessView {
  std::string pid, user, rank, card, memory, busy, since, where, command;
  std::string torch;  // PyTorch's own figures and what lies between them and the driver's; may be empty
  int depth = 0;      // in the tree
  Level level = Level::kQuiet;
};

struct WatchView {
  std::string title, driver, clock;
  std::vector<std::string> host;  // pieces, most important first
  std::vector<Remark> remarks;    // the driver's problem, alerts
  std::vector<CardView> cards;
  std::vector<ProcessView> processes;  // filtered and sorted
  int hidden = 0;                      // by the filter
  int elsewhere = 0;                   // on cards that were not chosen
  int all_cards = 0;                   // with those that were not chosen, without slices
};

// `alerts` are sentences about what goes on now.
WatchView build_watch_view(const model::MachineSample& sample, const WatchState& state,
                           const std::vector<std::string>& alerts);

// "13.4 of 24.0 GiB": why the driver's number is larger than PyTorch's, in one line.
std::string explain_use(const model::CardUse& use);

}  // namespace vramfit::tui

#endif
