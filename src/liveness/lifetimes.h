// Recordings -> when which block of device memory lived, and how full the card was at every moment.
//
//   address
//      ^        +------------------+
//    B |        | activation       |            Each rectangle is one Block: its width is its life in events, its
//      |   +----+----+             |            height its bytes. A cut at one event is the live set there; its bytes
//    A |   | weight  . . . . . . . . . . .      sum up to `allocated` at that event, and the free space between
//      +---+----+----+-------------+----->      rectangles within segments is what is cached or fragmented.
//          e1   e2   e3   peak     e5   event
//
// Several processes on one card are merged by the clock they share, and their numbers added.
#ifndef VRAMFIT_LIVENESS_LIFETIMES_H
#define VRAMFIT_LIVENESS_LIFETIMES_H

#include <vramfit/numbers.h>

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {
struct Recording;
}

namespace vramfit::liveness {

using base::Bytes;

// The place of an event in one card's merged stream.
using EventIndex = std::uint32_t;
inline constexpr EventIndex kNever = std::numeric_limits<EventIndex>::max();

struct Block {
  std::uint64_t address = 0;
  Bytes size;
  EventIndex born = 0, died = kNever;
  int process = 0;  // index of its recording
  std::uint8_t phase = 0, stage = 0;
  std::uint32_t thread = 0;
  std::uint8_t owner = 0;                      // enum vf_owner: the last tag of its life
  std::uint32_t scope = 0, line = 0, tag = 0;  // string ids of its recording

  bool freed = false;  // by PyTorch, not by the end of its process
  // A product of two matrices or a convolution wrote it: allocated just before, and not the call's workspace.
  bool product = false;
  // Python's collector freed it when it was asked to (python/vramfit/diagnose/cycles.py): nothing held it any more.
  bool collected = false;

  bool lives_at(EventIndex at) const { return born <= at && at < died; }
};

// A piece of memory PyTorch got from the driver.
struct Segment {
  std::uint64_t address = 0;
  Bytes size;
  EventIndex born = 0, died = kNever;
  int process = 0;
  bool lives_at(EventIndex at) const { return born <= at && at < died; }
};

// What processes took from the card besides PyTorch's memory.
struct Overheads {
  Bytes context, libraries;
  friend bool operator==(const Overheads&, const Overheads&) = default;
};

// How full the card was after an event. `device` is -1 where no event told it yet.
struct Level {
  std::int64_t at_ns = 0;  // since the first event of the card
  Bytes allocated, reserved;
  Bytes device;
  std::uint8_t phase = 0;
  int process = 0;
  Overheads overheads;  // of the processes that live at this moment
  std::uint8_t stage = 0;
};

// What the card held at that moment that neither PyTorch nor what is known of contexts and libraries explains.
inline Bytes rest_of(const Level& level) {
  return level.device.count() < 0 ? Bytes(0)
                                  : level.device - level.reserved - level.overheads.context - level.overheads.libraries;
}

struct OomEvent {
  EventIndex at = 0;
  Bytes tried;
  std::uint8_t phase = 0;
  int process = 0;
  std::uint8_t stage = 0;
  std::uint32_t scope = 0, line = 0;  // string ids of its recording
  std::uint32_t thread = 0;
};

// One optimizer step, or one batch of an evaluation, ended.
struct StepEnd {
  EventIndex at = 0;
  std::uint8_t phase = 0;
  int process = 0;
  std::int64_t number = 0;  // of its phase, from 1
};

struct Mark {
  EventIndex at = 0;
  std::string text;
};

struct CardHistory {
  int device = 0;
  std::vector<Level> levels;  // by EventIndex
  std::vector<Block> blocks;  // by birth
  std::vector<Segment> segments;
  std::vector<OomEvent> ooms;
  std::vector<Mark> marks;
  std::vector<std::int64_t> steps;  // by phase
  std::vector<StepEnd> step_ends;
  std::int64_t started_at_ns = 0;        // CLOCK_MONOTONIC, of the first event
  Overheads overheads;                   // the most there was of each at one moment
  std::int64_t inconsistent_events = 0;  // frees of unknown blocks, births on top of living ones
};

// One history for each card that any recording mentions, by index.
std::vector<CardHistory> build_histories(std::span<const model::Recording> recordings);

// Null: nothing happened on that card.
const CardHistory* find_history(std::span<const CardHistory> histories, int device);

}  // namespace vramfit::liveness

#endif
