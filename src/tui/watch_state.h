// What the person at the keyboard has chosen, and how keys change it. Nothing here acts on a process: watching is
// read-only.
#ifndef VRAMFIT_TUI_WATCH_STATE_H
#define VRAMFIT_TUI_WATCH_STATE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tui/card_choice.h"

namespace vramfit::tui {

enum class SortBy : std::uint8_t { kMemory, kCard, kPid, kUser, kStarted, kName };
std::string_view to_string(SortBy order);

struct WatchState {
  SortBy sort = SortBy::kMemory;
  bool reversed = false;
  bool tree = false;
  std::string filter;   // shown rows hold it in pid, user, command, container, job or card; case does not matter
  CardChoice cards;     // no other cards are shown, nor processes and graphs of others
  bool typing = false;  // keys go into the filter
  bool paused = false;
  bool graph = true;
  bool help = false;
  bool quit = false;
  int selected = 0;  // row of the process list
  int stride = 1;    // samples per column of a graph
  friend bool operator==(const WatchState&, const WatchState&) = default;
};

enum class KeyKind : std::uint8_t {
  kCharacter,
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kBackspace
};
struct Key {
  KeyKind kind = KeyKind::kCharacter;
  std::string text;  // of a character, as UTF-8
  friend bool operator==(const Key&, const Key&) = default;
};

// What there is to choose from now.
struct Choices {
  int rows = 0;  // of the process list
  std::vector<std::string> cards;
};

void press(WatchState& state, const Key& key, const Choices& choices);

// Takes the next key off the front of what a terminal sent. Returns false when the bytes are the beginning of a longer
// sequence; with `no_more` a lone escape byte is the Escape key.
bool take_key(std::string& bytes, Key& key, bool no_more);

}  // namespace vramfit::tui

#endif
