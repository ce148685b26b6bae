// What a page shows of a memory snapshot. Everything is worked out and cut to size before it gets here: whatever the
// recording, a page holds no more than a few million numbers, and says what it leaves out.
#ifndef VRAMFIT_REPORT_PAGE_TRACE_FACTS_H
#define VRAMFIT_REPORT_PAGE_TRACE_FACTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace vramfit::report::page {

// Memory over time at one resolution: the least and the most within buckets of the same number of entries.
struct CurveLevel {
  std::int64_t entries_per_bucket = 1;
  // Levels of each bucket, in units of 512 bytes.
  std::vector<std::uint32_t> allocated_least, allocated_most, reserved_most;
  std::vector<double> begins;  // seconds since the trace began; empty: the file has no times
};

// Names in a tree, as indices: stacks from the outermost frame inwards, or phases. Node 0 is the root, and a node's
// parent comes before it.
struct NameTree {
  std::vector<std::uint32_t> parent;
  std::vector<std::uint32_t> name;  // into `names`
  std::vector<std::string> names;
  std::int64_t cut_stacks = 0;  // that did not fit whole: their innermost frames are missing
};

// A state that the page can show. Instant k is after the first k entries of the trace.
struct Stop {
  std::uint32_t instant = 0;
  double seconds = 0;
  std::int64_t allocated = 0, reserved = 0;
  std::int64_t small_bytes = 0, small_blocks = 0;  // blocks that are not kept singly
};

// Segments that agree in these are drawn together.
struct SegmentGroup {
  std::string title;  // "large pool, stream 0"
  bool is_expandable = false;
};

// A segment from one stop up to another, that one not included.
struct MapSegment {
  std::uint64_t address = 0, size = 0;
  std::uint32_t from_stop = 0, to_stop = 0;
  std::uint32_t group = 0, place = 0;
};

struct MapBlock {
  std::uint64_t address = 0, size = 0, requested = 0;
  std::uint32_t from_stop = 0, freed_stop = 0, to_stop = 0;  // from freed_stop on it waits for other streams
  std::uint32_t stack = 0;                                   // node of CardTrace::stacks
  std::uint32_t line = 0;                                    // into CardTrace::lines
  std::uint32_t label = 0;                                   // node of CardTrace::labels
};

// Blocks of a place that are not kept singly, from this stop on, until the next one of the same place.
struct SmallBlocks {
  std::uint32_t stop = 0, place = 0;
  std::uint64_t bytes = 0;
  std::uint32_t blocks = 0;
};

struct TraceMark {
  std::uint32_t instant = 0;
  double seconds = 0;
  std::string text;
};

// Rows of the tables for the first stop shown, made of all blocks. The last line may stand for the others.
struct LineTotal {
  std::string line;
  std::int64_t bytes = 0, blocks = 0;
};

struct SegmentRow {
  std::uint64_t address = 0;
  std::string group;
  std::int64_t size = 0, allocated = 0, waiting = 0, free = 0, largest_hole = 0, blocks = 0;
};

struct CardTrace {
  int device = 0;
  std::int64_t entries = 0;
  bool has_times = false;
  double seconds = 0;              // from the first entry to the last
  std::vector<CurveLevel> levels;  // the coarsest first; the last is exact when a bucket is one entry
  std::vector<TraceMark> marks;    // starts of phases, OOMs; those of OOMs begin with "out of memory"
  std::int64_t marks_left_out = 0;
  std::vector<Stop> stops;      // in order of time
  std::uint32_t peak_stop = 0;  // most allocated
  std::vector<std::uint32_t> oom_stops;
  std::uint32_t first_stop = 0;  // shown first
  bool has_all_stops = false;    // every instant is one
  std::vector<SegmentGroup> groups;
  std::vector<MapSegment> segments;
  std::vector<MapBlock> blocks;
  std::vector<SmallBlocks> small;    // in order of stops
  std::uint64_t least_kept = 0;      // bytes: larger blocks are all kept singly
  std::int64_t blocks_in_trace = 0;  // that lived at any time
  NameTree stacks, labels;
  std::vector<std::string> lines;
  std::vector<LineTotal> lines_at_first;
  std::vector<SegmentRow> segments_at_first;
  std::int64_t segments_left_out = 0;
  std::vector<std::string> remarks;  // what is not known, or does not fit together
};

struct TraceFacts {
  std::string name;    // of the file
  std::string torch;   // the oldest release that writes such a file
  std::string damage;  // the file is cut off or damaged: what was wrong; empty: it is whole
  std::vector<CardTrace> cards;
};

}  // namespace vramfit::report::page

#endif
