// What the doctor found: causes of an out-of-memory error with their evidence, and what cures them. Plain values; text,
// JSON and SARIF are made from these alone, so that they never differ in verdict.
#ifndef VRAMFIT_MODEL_FINDING_H
#define VRAMFIT_MODEL_FINDING_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "model/evidence.h"

namespace vramfit::model {

// Roles that are never mixed: what broke, what will break, what to do about it, what is worth knowing.
enum class Severity { kError, kWarning, kHelp, kNote };
std::string_view to_string(Severity severity);  // "error", "warning", "help", "note"

// The five states of anything that was checked. Unknown is never shown as "nothing found".
enum class CheckState { kPass, kFail, kNotApplicable, kUnknown, kError };
std::string_view to_string(CheckState state);  // "pass", "fail", "not_applicable", "unknown", "error"

// The evidence that a finding rests on: a place, the words that stand there, and what follows from them.
struct EvidenceItem {
  std::string file;       // empty: no single place
  std::int64_t line = 0;  // from 1; 0: the whole file
  std::string text;       // as it stands there
  std::string reasoning;  // the arithmetic or the inference, with its numbers
  friend bool operator==(const EvidenceItem&, const EvidenceItem&) = default;
};

enum class Applicability {
  kAsIs,        // copy and run
  kMayBeWrong,  // right in most such cases
  kFillIn,      // names of the user's own stand in it
};
std::string_view to_string(Applicability applicability);  // "as_is", "may_be_wrong", "fill_in"

struct Fix {
  std::string what;            // one sentence
  std::string command;         // exact command or code; may be empty
  std::optional<Bytes> saves;  // known or measured; absent: not known
  std::string time_cost;       // "none", "one more forward pass, about 30 %"; empty: not known
  Applicability applicability = Applicability::kMayBeWrong;
  friend bool operator==(const Fix&, const Fix&) = default;
};

// Advice that was left out, because it is in force already or cannot help here.
struct Withheld {
  std::string what;
  std::string why;
  friend bool operator==(const Withheld&, const Withheld&) = default;
};

struct Finding {
  std::string code;   // "VF201"
  std::string label;  // "leak_growth": a stable name
  std::string title;  // one sentence
  Severity severity = Severity::kError;
  double confidence = 0;  // 0 to 1
  std::vector<EvidenceItem> evidence;
  std::vector<std::string> would_confirm;  // what to give or to do to be sure
  std::vector<Fix> fixes;                  // in order of bytes saved and time lost
  std::vector<Withheld> withheld;
  friend bool operator==(const Finding&, const Finding&) = default;
};

// One group of causes and whether anything of it was found.
struct Check {
  std::string group;  // "size", "lifetime", "fragmentation", "other users", "host", "libraries", "platform"
  CheckState state = CheckState::kUnknown;
  std::string text;                // one sentence
  std::vector<std::string> codes;  // of its findings
  friend bool operator==(const Check&, const Check&) = default;
};

// What an out-of-memory message tells of its process's context and libraries, beside what is charged on such a card.
struct OutsidePyTorch {
  std::string file;
  std::int64_t line = 0;
  PrintedBytes process, reserved;    // as printed: in use, and allocated + reserved but unallocated
  std::optional<PrintedBytes> held;  // process - reserved; absent: the figures don't add up
  std::vector<std::string> cards;    // which it may be, by the catalogue's names; empty: not known
  std::string text;                  // one sentence: the figures, and how they compare
  friend bool operator==(const OutsidePyTorch&, const OutsidePyTorch&) = default;
};

// The innermost frame of the user's own files where it failed.
struct FailedAt {
  std::string file;
  int line = 0;  // 0: not printed
  std::string function, code;
  friend bool operator==(const FailedAt&, const FailedAt&) = default;
};

struct Diagnosis {
  bool trouble = false;           // something ran out, or will
  bool other_failure = false;     // no trouble, but something else than memory failed
  std::string verdict;            // one sentence
  std::vector<Finding> findings;  // most probable first
  std::optional<FailedAt> failed_at;
  std::vector<Check> checks;
  std::vector<std::string> give;      // what would tell more, where the findings are unsure
  std::vector<std::string> read;      // what was read, one sentence each
  std::vector<std::string> warnings;  // of the reading: truncated, damaged, unreadable
  std::vector<Fact> facts;
  std::vector<OutsidePyTorch> outside_pytorch;  // of each message that tells it, once
  friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

// What `vramfit explain` tells of one cause.
struct CausePage {
  std::string code, label, title;
  std::string decides;  // what in the evidence decides it
  std::string what;     // paragraphs
  std::string cure;     // paragraphs
  friend bool operator==(const CausePage&, const CausePage&) = default;
};

}  // namespace vramfit::model

#endif
