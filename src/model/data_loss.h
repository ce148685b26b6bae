// What a run may fail to see, in one table: every reader and recorder that loses something counts it under one of these
// kinds, and the kind says what that means for the answer.
#ifndef VRAMFIT_MODEL_DATA_LOSS_H
#define VRAMFIT_MODEL_DATA_LOSS_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/unread_input.h"

namespace vramfit::model {

enum class LossKind {
  kRecordingStopped,
  kBlocksUnseen,
  kRecordingUnreadable,
  kRecordingCut,
  kRecordUnfinished,
  kRecordPhaseUnknown,
  kRecordStageUnknown,
  kRecordCardUnknown,
  kRecordTextUnknown,
  kRecordSizeImpossible,
  kRecordOwnerUnknown,
  kRecordKindUnknown,
  kNoteUnreadable,
  kNoteWithoutKind,
  kNoteKindUnknown,
  kNoteFieldUnreadable,
  kHookFailed,
  kNameGone,
  kProcessWithoutHooks,
  kLinesUnknown,
  kRankMissing,
  kRankLate
};

struct LossDescription {
  LossKind kind;
  std::string_view key;  // in recordings and JSON: never changed
  LossSeverity weight;
  std::string_view text;  // what is missing, for people
};

std::span<const LossDescription> loss_table();
const LossDescription& describe(LossKind kind);
const LossDescription* find_loss(std::string_view key);  // null: no kind of this table

std::string_view to_string(LossSeverity weight);  // "data_lost", "wrong_answer_possible"

// What one run lost.
struct DataLoss {
  LossKind kind = LossKind::kRecordUnfinished;
  std::int64_t count = 1;
  std::string detail;  // what is particular here: the hook and its error, the version of Python; may be empty
  friend bool operator==(const DataLoss&, const DataLoss&) = default;
};

// "a hook failed and was left out: phases.root (KeyError)"
std::string sentence_of(const DataLoss& loss);
// What people are told of them, a sentence each.
std::vector<std::string> sentences_of(const std::vector<DataLoss>& losses);

}  // namespace vramfit::model

#endif
