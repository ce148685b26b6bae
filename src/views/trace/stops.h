// Which states of a trace a page can show, and what lay on the card at each of them, cut to a bounded size: large
// blocks are kept singly, small ones as sums.
#ifndef VRAMFIT_VIEWS_TRACE_STOPS_H
#define VRAMFIT_VIEWS_TRACE_STOPS_H

#include <cstddef>
#include <vector>

#include "report/page/trace_facts.h"
#include "views/trace/history.h"

namespace vramfit::views::report_trace {

struct Budget {
  std::size_t whole_stops = 98304;  // a trace with no more instants has a stop at each
  std::size_t stops = 32768;        // else this many at equal distances, each at the fullest of its instants
  std::size_t blocks = 80000;       // kept singly
  std::size_t sums = 80000;         // changes of the sums of those that are not
  std::size_t buckets = 65536;      // of the finest curve
  std::size_t stack_nodes = 60000;
  std::size_t text_bytes = 1000000;  // of frames; of phases a quarter, of lines half
};

// The budget that each of several has.
Budget share(Budget budget, std::size_t count);

// Instants, in order: the peaks of allocated and reserved memory, every OOM (of very many the first), and the rest.
std::vector<Instant> choose_stops(const History& history, const Budget& budget);

struct Kept {
  std::vector<Instant> stops;
  // The tenants of History that are kept singly: what lies there at the peaks and at the first OOM, and then the
  // largest.
  std::vector<std::uint32_t> tenants;
  std::uint64_t least_kept = 0;  // whatever is larger, or as large, is kept
  std::vector<report::page::SmallBlocks> small;
};

// The first stop at or after an instant; the number of stops when there is none.
std::uint32_t stop_of(const std::vector<Instant>& stops, Instant instant);

// Where the sums would be too many, places are forgotten: all tenants and ranges are then in one.
Kept keep_largest(History& history, const Budget& budget);

}  // namespace vramfit::views::report_trace

#endif
