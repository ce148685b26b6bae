#include "model/data_loss.h"

#include <gtest/gtest.h>

#include <set>

namespace vramfit::model {
namespace {

TEST(DataLoss, every_kind_stands_in_the_table_once) {
  std::set<LossKind> kinds;
  std::set<std::string_view> keys;
  for (const LossDescription& row : loss_table()) {
    EXPECT_TRUE(kinds.insert(row.kind).second) << row.key;
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    EXPECT_FALSE(row.text.empty());
    EXPECT_EQ(&describe(row.kind), &row);
    EXPECT_EQ(find_loss(row.key), &row);
  }
  for (int kind = 0; kind <= static_cast<int>(LossKind::kRankLate); ++kind) {
    EXPECT_TRUE(kinds.contains(static_cast<LossKind>(kind))) << kind;
  }
  EXPECT_EQ(find_loss("no such kind"), nullptr);
}

TEST(DataLoss, is_told_in_a_sentence) {
  EXPECT_EQ(sentence_of({LossKind::kHookFailed, 1, "phases.root (KeyError)"}),
            "a hook failed and was left out: phases.root (KeyError)");
  EXPECT_EQ(sentence_of({LossKind::kRecordingCut, 2, ""}), "a recording is cut within a record");
  EXPECT_EQ(sentences_of({{LossKind::kRecordingCut, 2, ""}, {LossKind::kRecordKindUnknown, 9, ""}}),
            (std::vector<std::string>{"a recording is cut within a record (2 times)",
                                      "an event is of an unknown kind (9 times)"}));
  EXPECT_EQ(to_string(LossSeverity::kWrongAnswerPossible), "wrong_answer_possible");
}

}  // namespace
}  // namespace vramfit::model
