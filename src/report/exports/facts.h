// What the formats for other programs are written from: memory over time, phases, marks, and what held the peak.
#ifndef VRAMFIT_REPORT_EXPORTS_FACTS_H
#define VRAMFIT_REPORT_EXPORTS_FACTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "report/page/sweep_facts.h"

namespace vramfit::report::exports {

struct CounterPoint {
  std::int64_t at_ns = 0;            // since the beginning
  std::optional<base::Bytes> value;  // nothing: not known from here on
  friend bool operator==(const CounterPoint&, const CounterPoint&) = default;
};

// A quantity of one card. A value holds until the next point.
struct Counter {
  std::string name;  // allocated, reserved: PyTorch's own; device: the whole card, as the driver or the ledger tells
  int device = 0;
  std::vector<CounterPoint> points;  // in order of time
};

struct Slice {
  std::string name;  // of a phase
  int device = 0;
  std::int64_t from_ns = 0, to_ns = 0;
};

struct Mark {
  std::string text;
  std::string kind;  // mark, oom
  int device = 0;
  std::int64_t at_ns = 0;
};

struct StackFrame {
  std::string name, file;  // the file may be empty
  int line = 0;            // 0: not known
  friend auto operator<=>(const StackFrame&, const StackFrame&) = default;
};

struct StackWeight {
  std::vector<StackFrame> frames;  // outermost first
  base::Bytes bytes;
};

// What was alive at the peak.
struct StackProfile {
  std::string name;
  std::vector<StackWeight> stacks;
};

struct CardFacts {
  int device = 0;
  std::string name;
  base::Bytes total;  // 0: not known
  // Most of the card at any time, where that is known; else of what PyTorch reserved; nothing where neither is.
  std::optional<base::Bytes> peak;
};

struct ExportFacts {
  std::string title;           // "run 12", "snapshot.pickle"
  std::int64_t begins_ms = 0;  // since 1970, UTC; 0: not known
  bool has_times = true;       // false: entries are counted instead, one a microsecond
  std::vector<CardFacts> cards;
  std::vector<Counter> counters;
  std::vector<Slice> slices;
  std::vector<Mark> marks;
  std::vector<StackProfile> profiles;
  std::optional<page::SweepFacts> sweep;  // of a sweep: it has maps instead of memory over time
  std::string outcome;                    // one word for what came of it; may be empty
  std::string damage;                     // what of the source could not be read; empty: nothing
};

}  // namespace vramfit::report::exports

#endif
