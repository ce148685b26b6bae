// How far a run went through its script, and what that leaves open.
#ifndef VRAMFIT_MODEL_REACH_H
#define VRAMFIT_MODEL_REACH_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/note_records.h"

namespace vramfit::model {

using UnreachedKind = notes::UnreachedKind;
using UsesCard = notes::UsesCard;

// Lines of the script's own that were not executed, and that a longer run may come to.
struct Unreached {
  std::string file;
  int line = 0, last_line = 0;
  std::string place;  // "train.py:212 in main", as all lines of a result are spelled
  std::string code;   // of the first of them
  std::string when;   // in the script's words: "if step % 1000 == 0"
  UsesCard card = UsesCard::kUnknown;
  int column = 0;  // where it begins, from 1, for a part of a line that was executed; 0: whole lines
  UnreachedKind what = UnreachedKind::kLines;  // of this run: a result that is read again does not tell
  friend bool operator==(const Unreached&, const Unreached&) = default;
};

// Samples of a data set whose sizes were looked at beside the run.
struct LookedAt {
  int loader = 0;
  std::int64_t samples = 0;
  std::optional<std::int64_t> of;  // none: the data set has no length
  bool differ = false;             // in size
  friend bool operator==(const LookedAt&, const LookedAt&) = default;
};

struct Reach {
  bool whole = false;               // nothing was left out: the script ran to its own end
  bool watched = false;             // its lines were watched: an empty `unreached` means that there are none
  std::int64_t batches = 0;         // batches, and steps outside of loaders, before anything was left out
  std::int64_t steps = 0;           // optimizer steps in all
  std::int64_t peak_at = 0;         // `batches` when the peak last rose
  double seconds = 0;               // what those batches took
  std::optional<double> lines_run;  // share of the lines of the script's own files, 0 to 1
  std::vector<LookedAt> looked;
  std::vector<Unreached> unreached;  // those that use the card first
  std::vector<std::string> open;     // why what was left out may need more memory, in sentences
  friend bool operator==(const Reach&, const Reach&) = default;
};

// Whether all of the script ran: a run that fits is then said to fit, and else to fit as far as it ran. That no line is
// known to have been left out is not enough: the same line may ask for more in a later step (docs/adversaries.md).
bool is_settled(const Reach& reach);

// "fits", or "fits as far as it ran".
std::string_view words_for_fits(const Reach& reach);

}  // namespace vramfit::model

#endif
