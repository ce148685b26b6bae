#include "model/data_loss.h"

#include <algorithm>
#include <array>

namespace vramfit::model {
namespace {

constexpr auto kLost = LossSeverity::kDataLost;
constexpr auto kWrong = LossSeverity::kWrongAnswerPossible;

constexpr std::array kTable{
    LossDescription{LossKind::kRecordingStopped, "recording_stopped", kWrong,
                    "the recording ends before the job did: phases, owners and peaks after that are missing"},
    LossDescription{
        LossKind::kBlocksUnseen, "blocks_unseen", kWrong,
        "PyTorch's allocator told of none of the blocks that it gave: what tensors hold, and whose they are, is "
        "missing from all that is said"},
    LossDescription{LossKind::kRecordingUnreadable, "recording_unreadable", kWrong,
                    "the recording of a process could not be read"},
    LossDescription{LossKind::kRecordingCut, "recording_cut", kLost, "a recording is cut within a record"},
    LossDescription{LossKind::kRecordUnfinished, "record_unfinished", kLost,
                    "an event was begun and never finished: a process was killed while it was written"},
    LossDescription{LossKind::kRecordPhaseUnknown, "record_phase_unknown", kWrong, "an event is of an unknown phase"},
    LossDescription{LossKind::kRecordStageUnknown, "record_stage_unknown", kWrong,
                    "an event is of an unknown stage of a step"},
    LossDescription{LossKind::kRecordCardUnknown, "record_card_unknown", kWrong,
                    "an event is of a card that the job does not have: its memory is missing from all that is said"},
    LossDescription{LossKind::kRecordTextUnknown, "record_text_unknown", kLost,
                    "the line, module or name of an event is missing"},
    LossDescription{LossKind::kRecordSizeImpossible, "record_size_impossible", kWrong,
                    "an event tells of a size that no block has"},
    LossDescription{LossKind::kRecordOwnerUnknown, "record_owner_unknown", kWrong,
                    "what a block holds was told by a number that is not known: it is taken for what its stage says"},
    LossDescription{LossKind::kRecordKindUnknown, "record_kind_unknown", kLost, "an event is of an unknown kind"},
    LossDescription{LossKind::kNoteUnreadable, "note_unreadable", kLost, "a note of the hooks could not be read"},
    LossDescription{LossKind::kNoteWithoutKind, "note_without_kind", kLost, "a note says no kind"},
    LossDescription{LossKind::kNoteKindUnknown, "note_kind_unknown", kLost, "a note is of an unknown kind"},
    LossDescription{LossKind::kNoteFieldUnreadable, "note_field_unreadable", kLost,
                    "a field of a note is not known or missing, or its value can't be"},
    LossDescription{LossKind::kHookFailed, "hook_failed", kLost, "a hook failed and was left out"},
    LossDescription{LossKind::kNameGone, "name_gone", kLost,
                    "a private name of a library is gone: what needs it was left out"},
    LossDescription{LossKind::kProcessWithoutHooks, "process_without_hooks", kLost,
                    "a process used the card without vramfit's hooks in it: its phases and owners are not known, and "
                    "nothing was cut (it is no Python, or one started with -I, -E or -S)"},
    LossDescription{LossKind::kLinesUnknown, "lines_unknown", kLost,
                    "the script's lines are not known: the recorder can't read this Python's frames"},
    LossDescription{LossKind::kRankMissing, "rank_missing", kWrong,
                    "a rank ended before a collective that another waited for, and its data was taken to equal that "
                    "one's"},
    LossDescription{LossKind::kRankLate, "rank_late", kWrong,
                    "a rank did not come to a collective in the time that NCCL allows"},
};

}  // namespace

std::span<const LossDescription> loss_table() { return kTable; }

const LossDescription& describe(LossKind kind) { return *std::ranges::find(kTable, kind, &LossDescription::kind); }

const LossDescription* find_loss(std::string_view key) {
  const auto found = std::ranges::find(kTable, key, &LossDescription::key);
  return found == kTable.end() ? nullptr : &*found;
}

std::string_view to_string(LossSeverity weight) {
  switch (weight) {
    case LossSeverity::kDataLost:
      return "data_lost";
    case LossSeverity::kWrongAnswerPossible:
      return "wrong_answer_possible";
  }
  return "";
}

std::string sentence_of(const DataLoss& loss) {
  std::string text(describe(loss.kind).text);
  if (!loss.detail.empty()) text += ": " + loss.detail;
  return text;
}

std::vector<std::string> sentences_of(const std::vector<DataLoss>& losses) {
  std::vector<std::string> sentences;
  for (const DataLoss& loss : losses) {
    sentences.push_back(sentence_of(loss));
    if (loss.count > 1) sentences.back() += " (" + std::to_string(loss.count) + " times)";
  }
  return sentences;
}

}  // namespace vramfit::model
