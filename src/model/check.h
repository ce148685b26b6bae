// What `vramfit check` found: a recording of a real card beside the virtual run of the same job.
#ifndef VRAMFIT_MODEL_CHECK_H
#define VRAMFIT_MODEL_CHECK_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace vramfit::model {

enum class Agreement {
  kSame,         // every event, in order, and what is reserved
  kReordered,    // the same events, a few of which changed places; what is reserved is the same
  kDifferent,    // other events, or other sums
  kNotCompared,  // too little to compare
};
std::string_view to_string(Agreement agreement);  // "same", "reordered", "different", "not_compared"

struct CheckEvent {
  std::string action;  // PyTorch's word: "alloc", "free_completed", "segment_alloc"
  base::Bytes size;
  std::string line;  // who asked; empty: not recorded
  bool operator==(const CheckEvent&) const = default;
};

// The place where the two go apart.
struct CheckDifference {
  std::int64_t recorded_at = 0, virtual_at = 0;          // number of the event in each, from 0
  std::optional<CheckEvent> recorded, virtual_run;       // what stands there; nothing: only the other has more
  std::int64_t recorded_events = 0, virtual_events = 0;  // before both agree again
  bool is_reordering = false;                            // the same events in another order
  bool operator==(const CheckDifference&) const = default;
};

// One line of the table of sums. Absent: the recording's format does not tell it.
struct CheckFigure {
  std::string name;  // "reserved at the peak"
  std::optional<std::int64_t> recorded, virtual_run;
  bool is_bytes = true;
  bool is_same() const { return recorded == virtual_run; }
};

enum class CheckCause {
  kReordering,    // events that change places
  kWorkspace,     // what cuDNN or cuBLAS asked for
  kAddressOrder,  // the driver's order of addresses
  kSettings,      // of the allocator
  kTorchVersion,  // another release of PyTorch
  kPackage,       // events that a package asked for, or another release of it
  kScaled,        // the same events with sizes in one ratio: another batch or other data
  kShorter,       // one of both ends early
  kNotKnown,      // none of these
};
std::string_view to_string(CheckCause cause);  // "reordering", "workspace", ...

struct CheckReason {
  CheckCause cause = CheckCause::kNotKnown;
  std::string text;  // with the evidence
  bool operator==(const CheckReason&) const = default;
};

struct CheckResult {
  std::string recording;  // its path
  std::string format;     // "memory snapshot", "Kineto trace", "vramfit recording"
  std::string partner;    // what of the virtual run it was compared with
  std::string card;
  std::string torch;           // of the virtual run
  std::string recorded_torch;  // as far as the recording tells
  Agreement agreement = Agreement::kNotCompared;
  std::string text;  // one sentence

  std::int64_t recorded_events = 0;
  std::int64_t virtual_events = 0;  // of the part that the recording covers
  std::int64_t before_events = 0;   // of the virtual run, before and
  std::int64_t after_events = 0;    // after that part
  std::int64_t same = 0, moved = 0, only_recorded = 0, only_virtual = 0;
  std::vector<CheckDifference> differences;  // the first ones
  std::int64_t all_differences = 0;
  std::int64_t same_places = 0, places = 0;  // of blocks: segment and offset
  std::optional<CheckEvent> first_other_place;
  std::string recorded_address_order, virtual_address_order;                    // "linux", "wsl", "not known"
  std::int64_t same_segments = 0, recorded_segments = 0, virtual_segments = 0;  // that came, by size, in order
  std::vector<CheckFigure> figures;
  std::vector<CheckReason> causes;   // none where all agrees
  std::vector<std::string> notes;    // on the recording: damage, a lost beginning
  std::vector<std::string> learned;  // what was kept of it for later runs
  double seconds = 0;
};

}  // namespace vramfit::model

#endif
