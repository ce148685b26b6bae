#include "facts/told.h"

#include <gtest/gtest.h>
#include <vramfit/ledger.h>

#include <cstring>

#include "ingest/testing/add_note.h"
#include "model/recording.h"

namespace vramfit::facts {
namespace {

using nlohmann::json;

Told read(std::initializer_list<const char*> lines) {
  std::vector<model::Recording> recordings(1);
  for (const char* line : lines) {
    ingest::testing::add_note(recordings[0], line);
  }
  return read_told(recordings);
}

TEST(Notes, the_jobs_own_words_on_its_versions_win) {
  const auto told = read({R"({"kind":"process","torch":"2.12.1+cu130","cuda":"13.0","python":null})"});
  EXPECT_EQ(told.torch, "2.12.1+cu130");
  EXPECT_EQ(told.cuda, "13.0");
  EXPECT_EQ(told.python, "");
}

TEST(Notes, what_several_ranks_say_alike_is_said_once) {
  const auto told =
      read({R"({"kind":"cut","text":"each pass was cut"})", R"({"kind":"cut","text":"each pass was cut"})",
            R"({"kind":"cut","text":"ended early"})", R"({"kind":"data_read","what":"a size","line":"a.py:1 in f"})",
            R"({"kind":"data_read","what":"a size","line":"a.py:1 in f","count":4})",
            R"({"kind":"growth","text":"it gathers","phase":"validate"})",
            R"({"kind":"growth","text":"it gathers","phase":"validate"})", R"({"kind":"growth","text":"judged"})"});
  EXPECT_EQ(told.cuts, (std::vector<std::string>{"each pass was cut", "ended early"}));
  ASSERT_EQ(told.depends_on_data.size(), 1U);
  EXPECT_EQ(told.depends_on_data[0].count, 5);
  EXPECT_EQ(told.warnings, (std::vector<model::Remark>{{"it gathers", 2}}));
}

TEST(Notes, a_branch_that_hangs_on_values_is_known_in_whatever_words) {
  const auto is_chosen = [](const char* note) {
    model::RunResult result;
    result.depends_on_data = read({note}).depends_on_data;
    return model::find_chosen_branch(result) != nullptr;
  };
  EXPECT_FALSE(is_chosen(R"({"kind":"data_read","what":"a branch","line":"a.py:1 in f"})"));
  EXPECT_TRUE(is_chosen(R"({"kind":"data_read","what":"which way it goes","line":"a.py:1 in f","is_branch":true})"));
}

TEST(Notes, an_oom_has_its_stack_innermost_last) {
  const auto told = read({R"({"kind":"oom","message":"CUDA out of memory","phase":"train","stack":[
      {"file":"train.py","line":9,"function":"main","code":"step"},
      {"file":"train.py","line":4,"function":"step","code":"y = x"}, 7]})"});
  ASSERT_TRUE(told.oom);
  ASSERT_EQ(told.oom->stack.size(), 2U);
  EXPECT_EQ(told.oom->stack.back().function, "step");
  EXPECT_EQ(told.oom->phase, "train");
}

TEST(Notes, an_oom_says_how_far_a_model_had_come) {
  const auto moved = read({R"({"kind":"oom","loading":{"how":"moved","root":"Net","module":"blocks.7.up",
      "on_card_bytes":300,"to_come_bytes":0}})"});
  ASSERT_TRUE(moved.oom && moved.oom->loading);
  EXPECT_EQ(*moved.oom->loading,
            (model::LoadingFacts{"moved", "Net", "blocks.7.up", base::Bytes(300), base::Bytes(0)}));
  const auto built = read({R"({"kind":"oom","loading":{"how":"built","root":"Net","on_card_bytes":300,
      "to_come_bytes":null}})"});
  ASSERT_TRUE(built.oom && built.oom->loading);
  EXPECT_FALSE(built.oom->loading->to_come);
  EXPECT_FALSE(read({R"({"kind":"oom","loading":null})"}).oom->loading);
}

TEST(Notes, a_launchers_error_gives_way_to_that_of_a_rank) {
  const auto told = read({R"({"kind":"error","type":"ChildFailedError","message":"rank 1 failed"})",
                          R"({"kind":"error","type":"ValueError","message":"too few","after_cut":true})",
                          R"({"kind":"error","type":"KeyError","message":"later"})"});
  ASSERT_TRUE(told.error);
  EXPECT_EQ(told.error->type, "ValueError");
  EXPECT_TRUE(told.error->after_cut);
}

TEST(Notes, applied_and_refused_changes_are_told_apart) {
  const auto told = read({R"({"kind":"plan_applied","id":"autocast","text":"bf16"})",
                          R"({"kind":"plan_effect","id":"micro_batch","text":"dropout draws","what":"other"})",
                          R"({"kind":"plan_refused","id":"checkpoint","text":"no such module"})"});
  ASSERT_EQ(told.plan_applied.size(), 1u);
  EXPECT_EQ(told.plan_applied[0].text, "bf16");
  ASSERT_EQ(told.plan_effects.size(), 1u);
  EXPECT_EQ(told.plan_effects[0].text, "dropout draws");
  ASSERT_EQ(told.plan_refused.size(), 1u);
  EXPECT_EQ(told.plan_refused[0].id, "checkpoint");
}

TEST(Notes, what_a_framework_used_by_its_own_count_is_kept_for_each_card) {
  const auto told = read(
      {R"({"kind":"framework_memory","framework":"JAX","version":"0.10.2","device":1,"peak_bytes":100,"pool_bytes":900})",
       R"({"kind":"framework_memory","framework":"TensorFlow","version":"2.21.0","device":0,"peak_bytes":70,"pool_bytes":null})",
       R"({"kind":"framework_memory","framework":"JAX","version":"0.10.2","device":0,"peak_bytes":0,"pool_bytes":0})"});
  ASSERT_EQ(told.frameworks.size(), 2u) << "a card that nothing was put on has nothing to tell";
  EXPECT_EQ(told.frameworks[0], (model::FrameworkMemory{"JAX", "0.10.2", 1, base::Bytes(100), base::Bytes(900)}));
  EXPECT_EQ(told.frameworks[1].pool, std::nullopt);
}

TEST(Notes, how_a_server_divides_a_card_is_kept_as_far_as_it_tells) {
  const auto told = read(
      {R"({"kind":"server_memory","framework":"vLLM","version":"0.20.2","device":1,"weights_bytes":7,"outside_bytes":0,"graph_bytes":null,"kv_cache_bytes":64,"kv_tokens":16})"});
  ASSERT_EQ(told.servers.size(), 1u);
  const model::ServerMemory& memory = told.servers[0];
  EXPECT_EQ(memory.device, 1);
  EXPECT_EQ(memory.weights, base::Bytes(7));
  EXPECT_EQ(memory.outside, base::Bytes(0));
  EXPECT_EQ(memory.graphs, std::nullopt);
  EXPECT_EQ(memory.activations, std::nullopt);
  EXPECT_EQ(memory.kv_tokens, 16);
}

TEST(Notes, fields_of_the_wrong_type_do_no_harm) {
  const auto told =
      read({R"({"kind":"oom","message":7,"stack":"none"})", R"({"kind":"error","stack":[{"line":"x"}]})"});
  EXPECT_EQ(told.oom->message, "");
  EXPECT_TRUE(told.oom->stack.empty());
}

TEST(LedgerNotes, each_kind_has_its_place) {
  auto ledger = std::make_unique<vf_ledger>();
  const auto add = [&](int slot, int kind, const char* text, int count) {
    vf_ledger_note& note = ledger->notes[slot];
    note.kind = static_cast<decltype(note.kind)>(kind);
    note.count = static_cast<decltype(note.count)>(count);
    std::strncpy(note.text, text, sizeof note.text - 1);
  };
  add(0, VF_NOTE_NOT_MODELLED, "cufftXtExec", 2);
  add(1, VF_NOTE_ASSUMED, "no workspace", 3);
  add(2, VF_NOTE_WARNING, "an old driver", 1);
  add(3, VF_NOTE_DATA_READ, "a copy to the host", 4);
  Told told;
  add_ledger_notes(*ledger, told);
  EXPECT_EQ(told.not_modelled, (std::vector<model::Remark>{{"cufftXtExec", 2}}));
  EXPECT_EQ(told.assumed, (std::vector<model::Remark>{{"no workspace", 3}}));
  EXPECT_EQ(told.warnings, (std::vector<model::Remark>{{"an old driver", 1}}));
  EXPECT_EQ(told.depends_on_data[0].count, 4);
}

TEST(Losses, of_all_processes_are_counted_by_kind_the_worst_first) {
  std::vector<model::Recording> recordings(2);
  recordings[0].unread = {{"note_without_kind", {model::LossSeverity::kDataLost, 9}},
                          {"record_unfinished", {model::LossSeverity::kDataLost, 1}}};
  recordings[1].unread = {{"record_unfinished", {model::LossSeverity::kDataLost, 2}},
                          {"record_phase_unknown", {model::LossSeverity::kWrongAnswerPossible, 1}}};
  Told told = read_told(recordings);
  sort_losses(told);
  EXPECT_EQ(told.losses, (std::vector<model::DataLoss>{{model::LossKind::kRecordPhaseUnknown, 1, ""},
                                                       {model::LossKind::kNoteWithoutKind, 9, ""},
                                                       {model::LossKind::kRecordUnfinished, 3, ""}}));
}

TEST(Losses, are_told_by_notes_and_by_the_ledger) {
  auto told = read({R"({"kind":"recording_stopped","text":"the limit"})",
                    R"({"kind":"blocks_unseen","torch":"2.16.0","allocator":"native"})",
                    R"({"kind":"hook_failed","where":"phases.root","type":"KeyError","message":"'x'","at":"a.py:1"})",
                    R"({"kind":"lines_unknown","python":"3.14.0"})"});
  auto ledger = std::make_unique<vf_ledger>();
  ledger->notes[0].kind = VF_NOTE_LOSS;
  ledger->notes[0].count = 2;
  std::strcpy(ledger->notes[0].text, "rank_missing");
  add_ledger_notes(*ledger, told);
  sort_losses(told);
  EXPECT_EQ(told.losses,
            (std::vector<model::DataLoss>{{model::LossKind::kRecordingStopped, 1, "the limit"},
                                          {model::LossKind::kBlocksUnseen, 1, "torch 2.16.0, allocator native"},
                                          {model::LossKind::kRankMissing, 2, ""},
                                          {model::LossKind::kHookFailed, 1, "phases.root (KeyError 'x' at a.py:1)"},
                                          {model::LossKind::kLinesUnknown, 1, "Python 3.14.0"}}));
}

TEST(Losses, a_private_name_that_is_gone_is_told_once_by_however_many_processes) {
  const char* note =
      R"({"kind":"name_gone","library":"torch","version":"2.16","name":"_x","lost":"loaders are not cut"})";
  EXPECT_EQ(
      read({note, note}).losses,
      (std::vector<model::DataLoss>{{model::LossKind::kNameGone, 1, "torch 2.16: `_x` is gone: loaders are not cut"}}));
}

TEST(Losses, a_process_without_hooks_is_one_that_allocated_and_said_nothing) {
  vf_record context{}, block{};
  context.kind = VF_RECORD_CONTEXT;
  block.kind = VF_RECORD_BLOCK_ALLOC;
  const auto losses_of = [](std::vector<vf_record> records, bool hooked) {
    std::vector<model::Recording> recordings(1);
    recordings[0].records = records;
    if (hooked) recordings[0].notes.process.emplace_back();
    return read_told(recordings).losses;
  };
  EXPECT_TRUE(losses_of({context}, false).empty()) << "it asked how much memory is free";
  EXPECT_TRUE(losses_of({context, block}, true).empty());
  ASSERT_EQ(losses_of({context, block}, false).size(), 1u);
  EXPECT_EQ(losses_of({context, block}, false)[0].kind, model::LossKind::kProcessWithoutHooks);
}

}  // namespace
}  // namespace vramfit::facts
