#include "tui/watch_help.h"

#include <fmt/format.h>

#include <string_view>

namespace vramfit::tui {

namespace {

// Both columns of a help: its word is padded by columns of the terminal, which for these marks are characters.
std::string entry(std::string_view word, std::string_view meaning) { return fmt::format("{:<13}{}", word, meaning); }

}  // namespace

std::vector<std::string> key_lines() {
  return {entry("q", "quit"),
          entry("s, r", "sort by memory, card, pid, user, since, name; reverse"),
          entry("t", "tree: workers under the process that started them"),
          entry("/", "filter by pid, user, command, container, job or card (Enter, Esc)"),
          entry("up, down", "move through the processes (also k, j, PgUp, PgDn, Home, End)"),
          entry("0-9, a", "one card only, all cards; left, right: the card before, the next"),
          entry("g, +, -", "graphs on and off; a shorter, a longer time"),
          entry("space", "pause"),
          entry("h", "this help, and back")};
}

std::vector<std::string> mark_lines(bool unicode) {
  return {entry("-", "the card, driver or kernel does not tell; it is no 0"),
          entry(unicode ? "█ ░" : "# .", "memory in use, memory free; yellow from 80 %, red from 95 %"),
          entry(unicode ? "·" : "?", "memory unknown, in a bar or at that time of a graph"),
          entry(unicode ? "•" : "*", "in a graph: how busy the card was, its share of time at work"),
          entry("!", "something to know: of the machine, an alert, or of the card above"),
          entry("v0, 2:0", "GPU: the first virtual card of sessions; slice 0 (MIG) of card 2"),
          entry("P2, ECC 0/1", "performance state, P0 the fastest; memory errors, corrected / not"),
          entry("41/350 W", "now and at most, also of MHz and NVLink; in, out: over PCIe"),
          entry("RANK 0/2", "rank 0 of 2; SM: its share of the card's time; WHERE: job or pod"),
          entry("[zombie]", "ended, and not waited for: its memory may not be free yet"),
          entry("[gone]", "ended, or [not in our /proc]: in another container; ?: unknown"),
          unicode ? entry("…  └", "cut, a wider window has the rest; a worker of the process above")
                  : entry("~  \\", "cut, a wider window has the rest; a worker of the process above")};
}

}  // namespace vramfit::tui
