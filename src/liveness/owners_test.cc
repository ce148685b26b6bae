#include "liveness/owners.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "liveness/module_tree.h"
#include "liveness/peaks.h"
#include "liveness/testing/recording_builder.h"
#include "model/number_text.h"
#include "model/recording.h"

namespace vramfit::liveness {
namespace {

using testing::RecordingBuilder;

Bytes bytes_of(const std::vector<model::OwnerRow>& rows, std::string_view owner) {
  Bytes sum;
  for (const auto& row : rows) sum += row.owner == owner ? row.bytes : Bytes(0);
  return sum;
}

// One training step of a two-layer net on two segments, the second one partly free, and a third one unused.
RecordingBuilder step() {
  RecordingBuilder builder;
  builder.phase = VF_PHASE_LOAD;
  builder.stage = VF_STAGE_OTHER;
  builder.context(5000)
      .segment(10'000, 1000)
      .alloc(10'000, 400, "", "train.py:5 in main")
      .tag(10'000, VF_OWNER_WEIGHT, "fc.weight");
  builder.phase = VF_PHASE_TRAIN;
  builder.stage = VF_STAGE_INPUT;
  builder.alloc(10'400, 100, "", "train.py:9 in main");
  builder.stage = VF_STAGE_FORWARD;
  builder.segment(20'000, 2000)
      .alloc(20'000, 600, "net.0.conv", "train.py:12 in step")
      .alloc(20'600, 300, "net.1.fc", "train.py:12 in step");
  builder.segment(30'000, 700);
  builder.stage = VF_STAGE_BACKWARD;
  builder.alloc(10'500, 400, "", "train.py:13 in step").alloc(21'000, 50);
  return builder;
}

TEST(Owners, rows_sum_up_to_the_level_of_the_card) {
  RecordingBuilder builder = step();
  builder.tag(10'500, VF_OWNER_GRADIENT);
  const std::vector recordings = {builder.build()};
  const CardHistory history = build_histories(recordings).at(0);
  const EventIndex at = find_peak_event(history);
  const auto rows = find_owners(history, at, recordings, {});
  EXPECT_EQ(bytes_of(rows, "weights"), Bytes(400));
  EXPECT_EQ(bytes_of(rows, "inputs"), Bytes(100));
  EXPECT_EQ(bytes_of(rows, "activations"), Bytes(900));
  EXPECT_EQ(bytes_of(rows, "gradients"), Bytes(400)) << "tagged after the peak";
  EXPECT_EQ(bytes_of(rows, "temporaries"), Bytes(50));
  EXPECT_EQ(bytes_of(rows, "cached"), Bytes(700)) << "the segment without a living block";
  EXPECT_EQ(bytes_of(rows, "fragmented"), Bytes(100 + 1050)) << "free space beside living blocks";
  EXPECT_EQ(bytes_of(rows, "context"), Bytes(5000));
  Bytes sum;
  for (const auto& row : rows) sum += row.bytes;
  EXPECT_EQ(sum, history.levels[at].device);
  EXPECT_EQ(sum, find_peaks(history).device);
}

TEST(Owners, kernels_loaded_right_after_the_fullest_moment_of_tensors_are_of_the_same_peak) {
  RecordingBuilder builder;
  builder.context(5000).segment(10'000, 1000).alloc(10'000, 1000).free(10'000);
  builder.emit(VF_RECORD_LIBRARY, 700);
  const std::vector recordings = {builder.build()};
  const CardHistory history = build_histories(recordings).at(0);
  const EventIndex at = find_peak_event(history);
  ASSERT_LT(history.levels[at].device, find_peaks(history).device);
  OwnerOptions options;
  options.outside = find_fullest_with(history, at);
  Bytes sum;
  for (const auto& row : find_owners(history, at, recordings, options)) sum += row.bytes;
  EXPECT_EQ(sum, find_peaks(history).device);
}

TEST(Owners, what_stands_beside_a_model_has_rows_of_its_own_by_who_holds_it) {
  RecordingBuilder builder;
  builder.phase = VF_PHASE_TRAIN;
  builder.segment(10'000, 4000);
  std::uint64_t address = 10'000;
  const auto block = [&](std::int64_t size, vf_owner owner, const char* name) {
    builder.alloc(address, size).tag(address, owner, name);
    address += static_cast<std::uint64_t>(size);
  };
  block(100, VF_OWNER_AVERAGE, "ema");
  block(200, VF_OWNER_AVERAGE, "ema");
  block(400, VF_OWNER_OTHER_MODEL, "teacher");
  block(500, VF_OWNER_OTHER_MODEL, "vae");
  block(600, VF_OWNER_MASTER, "0.weight");
  block(700, VF_OWNER_QUANTIZATION, "");
  block(800, VF_OWNER_CACHE, "past_key_values");
  const std::vector recordings = {builder.build()};
  const CardHistory history = build_histories(recordings).at(0);
  std::vector<std::tuple<std::string, std::string, std::int64_t>> rows;
  for (const auto& row : find_owners(history, find_peak_event(history), recordings, {})) {
    if (row.blocks > 0) rows.emplace_back(row.owner, row.name, row.bytes.count());
  }
  EXPECT_EQ(rows, (decltype(rows){{"KV cache", "past_key_values", 800},
                                  {"quantization state", "", 700},
                                  {"fp32 masters", "", 600},
                                  {"other models", "vae", 500},
                                  {"other models", "teacher", 400},
                                  {"EMA copies", "ema", 300}}));
}

TEST(Owners, a_cache_comes_with_a_batch_and_what_is_of_a_model_does_not) {
  Block block;
  for (const vf_owner owner : {VF_OWNER_WEIGHT, VF_OWNER_AVERAGE, VF_OWNER_MASTER, VF_OWNER_OTHER_MODEL}) {
    block.owner = owner;
    EXPECT_TRUE(is_model_state(block)) << owner_name(block);
  }
  for (const vf_owner owner : {VF_OWNER_CACHE, VF_OWNER_INPUT, VF_OWNER_UNKNOWN, VF_OWNER_WORKSPACE}) {
    block.owner = owner;
    EXPECT_FALSE(is_model_state(block)) << owner_name(block);
  }
}

TEST(Owners, a_number_that_nobody_knows_is_no_owner) {
  for (const int number : {model::kOwnerCount, 256 + VF_OWNER_WEIGHT, -1}) {
    RecordingBuilder builder;
    builder.alloc(0x1000, 512).tag(0x1000, VF_OWNER_WEIGHT).tag(0x1000, static_cast<vf_owner>(number));
    const std::vector recordings = {builder.build()};
    const CardHistory history = build_histories(recordings).at(0);
    EXPECT_EQ(history.blocks[0].owner, VF_OWNER_UNKNOWN) << number;
  }
}

TEST(Owners, activations_are_named_by_module_and_carry_their_line) {
  const std::vector recordings = {step().build()};
  const CardHistory history = build_histories(recordings).at(0);
  const auto rows = find_owners(history, find_peak_event(history), recordings, {});
  const auto conv = std::ranges::find(rows, "net.0.conv", &model::OwnerRow::name);
  ASSERT_NE(conv, rows.end());
  EXPECT_EQ(conv->bytes, Bytes(600));
  EXPECT_EQ(conv->line, "train.py:12 in step");
}

TEST(Owners, a_block_is_called_what_the_script_calls_it_whatever_wraps_it) {
  RecordingBuilder builder;
  builder.phase = VF_PHASE_TRAIN;
  builder.stage = VF_STAGE_FORWARD;
  builder.segment(10'000, 1000)
      .alloc(10'000, 100, "_fsdp_wrapped_module.layers.0._fsdp_wrapped_module._checkpoint_wrapped_module.fc")
      .alloc(10'100, 200, "layers.0.fc")
      .alloc(10'300, 400, "layers.1._orig_mod");
  const std::vector recordings = {builder.build()};
  const CardHistory history = build_histories(recordings).at(0);
  std::vector<std::pair<std::string, std::int64_t>> rows;
  for (const auto& row : find_owners(history, find_peak_event(history), recordings, {})) {
    if (row.blocks > 0) rows.emplace_back(row.name, row.bytes.count());
  }
  EXPECT_EQ(rows, (decltype(rows){{"layers.1", 400}, {"layers.0.fc", 300}}));
  EXPECT_EQ(unwrapped_name("layers.0_orig_mod.fc"), "layers.0_orig_mod.fc") << "a part of the script's own name";
}

TEST(Owners, lines_are_summed_over_everything_that_lives) {
  const std::vector recordings = {step().build()};
  const CardHistory history = build_histories(recordings).at(0);
  const auto lines = find_lines(history, find_peak_event(history), recordings, 2);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].line, "train.py:12 in step");
  EXPECT_EQ(lines[0].bytes, Bytes(900));
  EXPECT_EQ(lines[0].blocks, 2);
}

TEST(Owners, a_cublas_workspace_is_told_from_activations_by_its_size_and_its_long_life) {
  RecordingBuilder builder;
  builder.segment(0, 100 << 20).alloc(0, 8519680 + 4096, "fc").alloc(9 << 20, 8519680, "fc").free(9 << 20);
  builder.alloc(30 << 20, 8519680, "fc");
  const std::vector recordings = {builder.build()};
  const CardHistory history = build_histories(recordings).at(0);
  EXPECT_EQ(owner_name(history.blocks[0]), "workspaces");
  EXPECT_EQ(owner_name(history.blocks[1]), "activations");
  EXPECT_EQ(owner_name(history.blocks[2]), "activations") << "one a thread";
}

TEST(Owners, memory_nobody_explains_is_said_to_be_unexplained) {
  RecordingBuilder builder;
  builder.context(100).segment(0, 1000).alloc(0, 1000);
  model::Recording recording = builder.build();
  auto storage = std::make_shared<std::vector<vf_record>>(recording.records.begin(), recording.records.end());
  (*storage)[1].a += 64;  // the card says 64 bytes more than any record tells
  recording.records = *storage;
  recording.storage = storage;
  const std::vector recordings = {recording};
  const CardHistory history = build_histories(recordings).at(0);
  EXPECT_EQ(bytes_of(find_owners(history, 2, recordings, {}), "unexplained"), Bytes(64));
}

TEST(ModuleTree, names_are_cut_to_the_deepest_level_that_can_be_read) {
  ModuleSums sums;
  for (int layer = 0; layer < 4; ++layer) {
    for (int block = 0; block < 5; ++block) {
      ModuleSum& sum = sums["backbone.layer" + std::to_string(layer) + "." + std::to_string(block) + ".conv"];
      sum.bytes = Bytes(10);
      sum.blocks = 1;
    }
  }
  sums["head"].bytes = Bytes(3);
  const ModuleSums folded = fold_modules(sums, 6);
  ASSERT_EQ(folded.size(), 5u);
  EXPECT_EQ(folded.at("backbone.layer2").bytes, Bytes(50));
  EXPECT_EQ(folded.at("backbone.layer2").blocks, 5);
  EXPECT_EQ(folded.at("head").bytes, Bytes(3));
  EXPECT_EQ(fold_modules(sums, 100).size(), 21u);
  EXPECT_EQ(fold_modules(sums, 0).size(), 2u) << "the top level always stays";
}

TEST(ModuleTree, a_name_is_cut_at_its_dots) {
  EXPECT_EQ(cut_name("a.b.c", 1), "a");
  EXPECT_EQ(cut_name("a.b.c", 2), "a.b");
  EXPECT_EQ(cut_name("a.b.c", 9), "a.b.c");
  EXPECT_EQ(cut_name("", 1), "");
}

}  // namespace
}  // namespace vramfit::liveness
