#include "tui/watch_state.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vramfit::tui {

std::string_view to_string(SortBy order) {
  constexpr std::array<std::string_view, 6> kNames = {"memory", "card", "pid", "user", "since", "name"};
  return kNames[static_cast<std::size_t>(order)];
}

namespace {

constexpr int kPage = 10, kMostStride = 64;

void type(WatchState& state, const Key& key) {
  switch (key.kind) {
    case KeyKind::kEnter:
      state.typing = false;
      break;
    case KeyKind::kEscape:
      state.typing = false;
      state.filter.clear();
      break;
    case KeyKind::kBackspace:
      while (!state.filter.empty() && (state.filter.back() & 0xc0) == 0x80) state.filter.pop_back();
      if (!state.filter.empty()) state.filter.pop_back();
      break;
    case KeyKind::kCharacter:
      state.filter += key.text;
      break;
    default:
      break;
  }
  state.selected = 0;
}

void choose(WatchState& state, std::string_view key, const std::vector<std::string>& cards) {
  if (key == "q" || key == "Q") state.quit = true;
  if (key == "s") state.sort = static_cast<SortBy>((static_cast<int>(state.sort) + 1) % 6);
  if (key == "r") state.reversed = !state.reversed;
  if (key == "t") state.tree = !state.tree;
  if (key == "g") state.graph = !state.graph;
  if (key == " " || key == "p") state.paused = !state.paused;
  if (key == "h" || key == "?") state.help = !state.help;
  if (key == "/" || key == "f") state.typing = true;
  if (key == "a") state.cards.clear();
  if (key.size() == 1 && key.front() >= '0' && key.front() <= '9') choose_digit(state.cards, key, cards);
  if (key == "j") ++state.selected;
  if (key == "k") --state.selected;
  if (key == "-") state.stride = std::min(state.stride * 2, kMostStride);
  if (key == "+" || key == "=") state.stride = std::max(state.stride / 2, 1);
}

}  // namespace

void press(WatchState& state, const Key& key, const Choices& choices) {
  if (state.typing) return type(state, key);
  switch (key.kind) {
    case KeyKind::kCharacter:
      choose(state, key.text, choices.cards);
      break;
    case KeyKind::kUp:
      --state.selected;
      break;
    case KeyKind::kDown:
      ++state.selected;
      break;
    case KeyKind::kLeft:
      step(state.cards, -1, choices.cards);
      break;
    case KeyKind::kRight:
      step(state.cards, 1, choices.cards);
      break;
    case KeyKind::kPageUp:
      state.selected -= kPage;
      break;
    case KeyKind::kPageDown:
      state.selected += kPage;
      break;
    case KeyKind::kHome:
      state.selected = 0;
      break;
    case KeyKind::kEnd:
      state.selected = choices.rows - 1;
      break;
    case KeyKind::kEscape:
      state.help = false;
      state.filter.clear();
      break;
    default:
      break;
  }
  state.selected = std::clamp(state.selected, 0, std::max(choices.rows - 1, 0));
}

bool take_key(std::string& bytes, Key& key, bool no_more) {
  static constexpr std::array<std::pair<std::string_view, KeyKind>, 18> kSequences = {{{"\033[A", KeyKind::kUp},
                                                                                       {"\033[B", KeyKind::kDown},
                                                                                       {"\033OA", KeyKind::kUp},
                                                                                       {"\033OB", KeyKind::kDown},
                                                                                       {"\033[C", KeyKind::kRight},
                                                                                       {"\033[D", KeyKind::kLeft},
                                                                                       {"\033OC", KeyKind::kRight},
                                                                                       {"\033OD", KeyKind::kLeft},
                                                                                       {"\033[5~", KeyKind::kPageUp},
                                                                                       {"\033[6~", KeyKind::kPageDown},
                                                                                       {"\033[H", KeyKind::kHome},
                                                                                       {"\033[F", KeyKind::kEnd},
                                                                                       {"\033OH", KeyKind::kHome},
                                                                                       {"\033OF", KeyKind::kEnd},
                                                                                       {"\033[1~", KeyKind::kHome},
                                                                                       {"\033[4~", KeyKind::kEnd},
                                                                                       {"\033[7~", KeyKind::kHome},
                                                                                       {"\033[8~", KeyKind::kEnd}}};
  if (bytes.empty()) return false;
  for (const auto& [sequence, kind] : kSequences) {
    if (bytes.starts_with(sequence)) {
      key = {kind, {}};
      bytes.erase(0, sequence.size());
      return true;
    }
    if (!no_more && bytes.size() < sequence.size() && sequence.starts_with(bytes)) return false;
  }
  const auto lead = static_cast<unsigned char>(bytes.front());
  if (lead == '\033') {
    // An unknown sequence is swallowed to its final byte; a lone escape byte is the key.
    std::size_t end = 1;
    if (bytes.size() > 1 && (bytes[1] == '[' || bytes[1] == 'O')) {
      end = 2;
      while (end < bytes.size() && (bytes[end] < 0x40 || bytes[end] > 0x7e)) ++end;
      end = std::min(end + 1, bytes.size());
    }
    key = {end == 1 ? KeyKind::kEscape : KeyKind::kCharacter, {}};
    bytes.erase(0, end);
    return true;
  }
  if (lead == '\r' || lead == '\n') {
    key = {KeyKind::kEnter, {}};
  } else if (lead == 0x7f || lead == 0x08) {
    key = {KeyKind::kBackspace, {}};
  } else {
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    if (length > bytes.size() && !no_more) return false;
    key = {KeyKind::kCharacter, lead < 0x20 ? std::string() : bytes.substr(0, length)};
    bytes.erase(0, std::min(length, bytes.size()));
    return true;
  }
  bytes.erase(0, 1);
  return true;
}

}  // namespace vramfit::tui
