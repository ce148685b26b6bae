#include "ingest/note_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/number_names.h"

namespace vramfit::ingest {
namespace {

using nlohmann::json;

model::Notes read_one(const json& note, UnreadFields& unread) {
  model::Notes notes;
  EXPECT_TRUE(read_note(note.at("kind").get<std::string>(), note, notes, unread));
  return notes;
}

TEST(NoteFields, a_note_becomes_its_struct) {
  UnreadFields unread;
  const json note = {{"kind", "oom"},
                     {"message", "CUDA out of memory"},
                     {"phase", "train"},
                     {"stack", {{{"file", "train.py"}, {"line", 12}, {"function", "main"}, {"code", "step()"}}}},
                     {"loading", {{"how", "to"}, {"root", "net"}, {"module", "fc"}, {"on_card_bytes", 4096}}}};
  const model::Notes notes = read_one(note, unread);
  EXPECT_EQ(unread.count, 0) << unread.names.size();
  const auto& oom = notes.oom.at(0);
  EXPECT_EQ(oom.stack.at(0).line, 12);
  EXPECT_EQ(oom.loading->on_card_bytes, base::Bytes(4096));
  EXPECT_FALSE(oom.loading->to_come_bytes);
}

TEST(NoteFields, unknown_kinds_are_refused_and_unknown_fields_counted_by_name) {
  UnreadFields unread;
  model::Notes notes;
  EXPECT_FALSE(read_note("no_such_kind", json::object(), notes, unread));
  read_one({{"kind", "open"}, {"text", "x"}, {"colour", 3}}, unread);
  EXPECT_EQ(unread.count, 1);
  EXPECT_EQ(unread.names, std::vector<std::string>{"colour"});
}

TEST(NoteFields, a_word_that_is_none_of_the_fields_is_counted_and_left_out) {
  UnreadFields unread;
  const model::Notes notes =
      read_one({{"kind", "training_tensor"}, {"what", "color"}, {"index", "0"}, {"values", {1}}}, unread);
  EXPECT_EQ(notes.training_tensor.at(0).what, model::notes::TensorKind::kUnread);
  EXPECT_EQ(unread.names, std::vector<std::string>{"what"});
  read_one({{"kind", "cut"}, {"what", 3}, {"text", "x"}}, unread);
  read_one({{"kind", "cut"}, {"text", "x"}}, unread);
  EXPECT_EQ(unread.count, 3);
  const model::Notes cut = read_one({{"kind", "cut"}, {"what", "steps"}, {"text", "x"}}, unread);
  EXPECT_EQ(cut.cut.at(0).what, model::notes::CutKind::kSteps);
  EXPECT_EQ(unread.count, 3);
}

TEST(NoteFields, a_phase_that_nobody_knows_is_counted_and_left_out) {
  UnreadFields unread;
  const auto phase_in = [&](const char* phase) {
    return read_one({{"kind", "oom"}, {"message", "m"}, {"phase", phase}}, unread).oom.at(0).phase;
  };
  EXPECT_EQ(phase_in("validate"), model::phase::kValidate);
  const auto known = unread.count;
  EXPECT_EQ(phase_in("vaildate"), "");
  EXPECT_EQ(unread.count, 2 * known + 1);
  EXPECT_NE(std::ranges::find(unread.names, "phase"), unread.names.end());
}

TEST(NoteFields, a_field_without_a_default_that_is_missing_is_counted_by_name) {
  UnreadFields unread;
  read_one({{"kind", "late_growth"}, {"value", 1}, {"rounds", 3}}, unread);
  EXPECT_EQ(unread.count, 2);
  EXPECT_EQ(unread.names, (std::vector<std::string>{"steps", "bytes_per_round"}));
}

TEST(NoteFields, values_of_another_type_leave_the_fields_start) {
  for (const json& wrong : {json(-1), json("8"), json(nullptr), json(2.5), json(std::int64_t{1} << 60)}) {
    UnreadFields unread;
    const json note = {{"kind", "late_growth"}, {"value", 1}, {"steps", 2}, {"rounds", 3}, {"bytes_per_round", wrong}};
    const auto notes = read_one(note, unread);
    EXPECT_EQ(unread.count, 1) << wrong;
    EXPECT_EQ(unread.names.at(0), "bytes_per_round");
    EXPECT_EQ(notes.late_growth.at(0).bytes_per_round, base::Bytes(0)) << wrong;
  }
}

TEST(NoteFields, entries_of_a_list_that_cannot_be_read_are_left_out) {
  UnreadFields unread;
  const json note = {{"kind", "coverage"},
                     {"known", true},
                     {"parts", json::object()},
                     {"lines_run", 6},
                     {"lines", 9},
                     {"executed", {{"train.py", {{1, 4}, {6}, {"a", 7}, {8, 9}}}, {"b.py", 5}}},
                     {"unreached", {3, {{"file", "train.py"}, {"line", 5}, {"last_line", 5}}}}};
  const auto notes = read_one(note, unread);
  const auto& coverage = notes.coverage.at(0);
  ASSERT_EQ(coverage.executed.size(), 1u);
  EXPECT_EQ(coverage.executed.at("train.py"), (std::vector<model::notes::LineRange>{{1, 4}, {8, 9}}));
  ASSERT_EQ(coverage.unreached.size(), 1u);
  EXPECT_EQ(coverage.unreached[0].card, model::notes::UsesCard::kUnknown) << "a default of the contract";
  EXPECT_EQ(unread.count, 4);
}

TEST(NoteFields, optional_numbers_and_numbers_that_json_lacks) {
  UnreadFields unread;
  const json note = {
      {"kind", "training_tensor"}, {"what", "update"}, {"index", "0.1"}, {"values", {1.5, "nan", "inf", 2}}};
  const auto notes = read_one(note, unread);
  const auto& values = notes.training_tensor.at(0).values;
  ASSERT_EQ(values.size(), 4u);
  EXPECT_TRUE(std::isnan(values[1]) && std::isnan(values[2]));
  EXPECT_EQ(values[3], 2.0);
  const json looked = {{"kind", "looked"}, {"loader", 0}, {"samples", 4}, {"of", nullptr}, {"differ", false}};
  EXPECT_FALSE(read_one(looked, unread).looked.at(0).of);
  EXPECT_EQ(unread.count, 0);
}

TEST(NoteFields, options_keep_their_types) {
  UnreadFields unread;
  const auto notes =
      read_one({{"kind", "optimizer"}, {"options", {{"fused", true}, {"lr", 0.1}, {"x", nullptr}}}}, unread);
  const auto& options = notes.optimizer.at(0).options;
  EXPECT_EQ(std::get<bool>(options.at("fused")), true);
  EXPECT_EQ(std::get<double>(options.at("lr")), 0.1);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(options.at("x")));
}

}  // namespace
}  // namespace vramfit::ingest
