#include "facts/runtime_evidence.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "facts/explanation.h"
#include "facts/recordings.h"
#include "ingest/oom_report.h"
#include "ingest/testing/add_note.h"
#include "liveness/testing/recording_builder.h"
#include "model/recording.h"

namespace vramfit::facts {
namespace {

using base::Bytes;
using liveness::testing::RecordingBuilder;
using nlohmann::json;

constexpr std::int64_t kMib = 1 << 20;

void note(model::Recording& recording, const json& fields) { ingest::testing::add_note(recording, fields); }

model::RuntimeEvidence gather(const std::vector<model::Recording>& recordings) {
  return explain(*facts::gather(recordings), false).evidence;
}

model::Recording leaking_job() {
  RecordingBuilder builder;
  builder.context(300 * kMib).segment(1, 1000 * kMib);
  for (int step = 1; step <= 5; ++step) {
    builder.alloc(0x1000u + static_cast<std::uint64_t>(step) * 0x1000'0000u, kMib, "", "train.py:9 in train");
    builder.emit(VF_RECORD_STEP, 0, step);
  }
  return builder.build();
}

TEST(RuntimeEvidence, a_run_that_was_not_diagnosed_has_contexts_and_growth_only) {
  const auto evidence = gather({leaking_job()});
  EXPECT_FALSE(evidence.measured);
  EXPECT_EQ(evidence.growth.size(), 1u);
  ASSERT_EQ(evidence.contexts.size(), 1u);
  EXPECT_EQ(evidence.contexts[0].context, Bytes::mib(300));
  EXPECT_EQ(evidence.contexts[0].peak_allocated, Bytes::mib(5));
}

TEST(RuntimeEvidence, a_holder_joins_the_growth_that_the_recording_shows_and_gets_its_line) {
  model::Recording job = leaking_job();
  note(job, {{"kind", "diagnosed"}});
  note(job, {{"kind", "kept_across_steps"},
             {"phase", "train"},
             {"step", 4},
             {"at_ns", 100},
             {"tensors",
              {{{"holder", {{"kind", "global"}, {"name", "losses[1]"}, {"container", "list"}, {"length", 4}}},
                {"address", 0x2000'1000},
                {"shape", "float32 [512]"},
                {"tensors", 2},
                {"bytes", 2 * kMib},
                {"has_graph", true},
                {"operation", "MeanBackward0"}}}},
             {"graphs", json::array()}});
  const auto evidence = gather({job});
  ASSERT_EQ(evidence.growth.size(), 1u);
  EXPECT_EQ(evidence.growth[0].per_step, Bytes::mib(1));
  ASSERT_EQ(evidence.growth[0].holders.size(), 1u);
  const model::TensorGroup& group = evidence.growth[0].holders[0];
  EXPECT_EQ(group.holder.name, "losses[1]");
  EXPECT_EQ(group.holder.length, 4);
  EXPECT_EQ(group.line, "train.py:9 in train");
  EXPECT_TRUE(group.has_graph);
}

TEST(RuntimeEvidence, the_same_list_seen_twice_is_one_holder) {
  model::Recording job = leaking_job();
  note(job, {{"kind", "diagnosed"}});
  for (const char* name : {"losses[1]", "losses[2]"}) {
    note(job, {{"kind", "kept_across_steps"},
               {"phase", "train"},
               {"at_ns", 100},
               {"tensors", {{{"holder", {{"kind", "global"}, {"name", name}}}, {"shape", "s"}, {"bytes", 1}}}}});
  }
  const auto evidence = gather({job});
  ASSERT_EQ(evidence.growth.at(0).holders.size(), 1u);
  EXPECT_EQ(evidence.growth[0].holders[0].holder.name, "losses[2]");
}

TEST(RuntimeEvidence, blocks_as_large_as_tokens_times_vocabulary_are_logits_and_their_fp32_copies_are_counted) {
  RecordingBuilder builder;
  constexpr std::int64_t kRows = 2048, kVocabulary = 32000;
  builder.segment(1, 2000 * kMib);
  builder.alloc(0x1000'0000, kRows * kVocabulary * 2, "lm_head", "train.py:7 in train");
  builder.alloc(0x3000'0000, kRows * kVocabulary * 4, "", "train.py:8 in train");
  builder.alloc(0x5000'0000, 77 * kMib, "layers.0", "train.py:7 in train");
  model::Recording job = builder.build();
  note(job, {{"kind", "diagnosed"}});
  note(job, {{"kind", "wide_layer"}, {"name", "lm_head"}, {"classes", kVocabulary}});
  note(job,
       {{"kind", "step_input"}, {"phase", "train"}, {"step", 1}, {"elements", 4096}, {"shapes", "[2, 1024] int64"}});
  const auto evidence = gather({job});
  ASSERT_EQ(evidence.logits.size(), 1u);
  EXPECT_EQ(evidence.logits[0].module, "lm_head");
  EXPECT_EQ(evidence.logits[0].rows, kRows);
  EXPECT_EQ(evidence.logits[0].blocks_at_peak, 2);
  EXPECT_EQ(evidence.logits[0].of_4_bytes, 1);
  EXPECT_EQ(evidence.logits[0].at_peak, Bytes(kRows * kVocabulary * 6));
}

TEST(RuntimeEvidence, a_step_gets_the_peak_that_its_input_needed) {
  RecordingBuilder builder;
  builder.segment(1, 1000 * kMib);
  builder.alloc(0x1000, 3 * kMib).free(0x1000).emit(VF_RECORD_STEP, 0, 1);
  builder.alloc(0x1000, 50 * kMib).free(0x1000).emit(VF_RECORD_STEP, 0, 2);
  model::Recording job = builder.build();
  note(job, {{"kind", "diagnosed"}});
  for (const int step : {1, 2}) {
    note(job, {{"kind", "step_input"}, {"phase", "train"}, {"step", step}, {"elements", step * 100}, {"shapes", "s"}});
  }
  const auto evidence = gather({job});
  ASSERT_EQ(evidence.inputs.size(), 2u);
  EXPECT_EQ(evidence.inputs[0].peak_allocated, Bytes::mib(3));
  EXPECT_EQ(evidence.inputs[1].peak_allocated, Bytes::mib(50));
}

TEST(RuntimeEvidence, processes_are_told_apart_by_role_and_rank) {
  model::Recording main = leaking_job(), worker = leaking_job();
  worker.pid = 2;
  note(main, {{"kind", "process"}, {"rank", 1}, {"world_size", 4}});
  note(worker, {{"kind", "role"}, {"role", "worker"}});
  const auto evidence = gather({main, worker});
  ASSERT_EQ(evidence.contexts.size(), 2u);
  EXPECT_EQ(evidence.contexts[0].role, model::JobRole::kRank);
  EXPECT_EQ(evidence.contexts[0].rank, 1);
  EXPECT_EQ(evidence.contexts[1].role, model::JobRole::kWorker);
}

TEST(RuntimeEvidence, the_last_error_says_where_in_the_step_it_came) {
  RecordingBuilder builder;
  builder.segment(1, 1000 * kMib).alloc(0x1000, 3 * kMib).emit(VF_RECORD_STEP, 0, 1);
  builder.stage = VF_STAGE_BACKWARD;
  builder.emit(VF_RECORD_OOM, 64 * kMib);
  const auto evidence = gather({builder.build()});
  ASSERT_TRUE(evidence.oom);
  EXPECT_EQ(evidence.oom->stage, "backward");
  EXPECT_EQ(evidence.oom->train_steps, 1);
  EXPECT_EQ(evidence.oom->tried, Bytes::mib(64));
}

TEST(RuntimeEvidence, damaged_notes_are_read_as_far_as_they_go) {
  model::Recording job = leaking_job();
  note(job, {{"kind", "diagnosed"}});
  note(job, {{"kind", "kept_across_steps"},
             {"phase", 7},
             {"tensors", {1, "x", {{"holder", "y"}, {"bytes", "z"}}}},
             {"graphs", 5}});
  note(job, {{"kind", "step_input"}, {"shapes", "[99999999999999999999] int64"}});
  note(job, {{"kind", "output"}, {"shape", {1 << 30, 1 << 30, "a", -4}}});
  note(job, {{"kind", "checkpoint_load"}, {"on_card_bytes", -5}});
  const auto evidence = gather({job});
  EXPECT_TRUE(evidence.measured);
  EXPECT_EQ(evidence.checkpoints.at(0).on_card, Bytes(0));
}

TEST(RuntimeEvidence, a_report_of_the_moment_says_who_held_what) {
  const json report = {{"vramfit_report", 1},
                       {"device", 1},
                       {"tried", 64 * kMib},
                       {"allocated", 500 * kMib},
                       {"held",
                        {{{"holder", {{"kind", "global"}, {"name", "features[0]"}, {"container", "list"}}},
                          {"line", "train.py:9 in train"},
                          {"tensors", 40},
                          {"bytes", 400 * kMib}}}}};
  EXPECT_TRUE(ingest::is_oom_report(report.dump()));
  EXPECT_FALSE(ingest::is_oom_report("{\"findings\": []}"));
  const auto evidence = ingest::read_oom_report(report.dump());
  ASSERT_TRUE(evidence);
  EXPECT_FALSE(evidence->measured);
  EXPECT_EQ(evidence->oom->device, 1);
  EXPECT_EQ(evidence->oom->allocated, Bytes::mib(500));
  ASSERT_EQ(evidence->oom->holders.size(), 1u);
  EXPECT_EQ(evidence->oom->holders[0].line, "train.py:9 in train");
  EXPECT_EQ(evidence->oom->holders[0].holder.container, "list");
  EXPECT_FALSE(ingest::read_oom_report(report.dump().substr(0, 50)));
}

}  // namespace
}  // namespace vramfit::facts
