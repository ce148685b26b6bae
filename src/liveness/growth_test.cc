#include "liveness/growth.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "liveness/testing/recording_builder.h"
#include "model/recording.h"

namespace vramfit::liveness {
namespace {

using testing::RecordingBuilder;

constexpr std::int64_t kMib = 1 << 20;

// A recording of `steps` steps, each doing what `step(builder, number)` does.
template <class Step>
std::vector<model::Recording> record(int steps, Step step) {
  RecordingBuilder builder;
  builder.segment(1, 1000 * kMib);
  for (int number = 1; number <= steps; ++number) {
    step(builder, number);
    builder.emit(VF_RECORD_STEP, 0, number);
  }
  return {builder.build()};
}

std::vector<model::Growth> growth_of(const std::vector<model::Recording>& recordings) {
  const auto histories = build_histories(recordings);
  return find_growth(histories.at(0), recordings);
}

std::uint64_t place(int number) { return 0x1000u + static_cast<std::uint64_t>(number) * 0x1000'0000u; }

TEST(Growth, blocks_of_a_line_that_stay_step_after_step_grow) {
  const auto found = growth_of(record(6, [](RecordingBuilder& builder, int number) {
    builder.alloc(place(number), 2 * kMib, "head", "train.py:9 in train");
    builder.alloc(place(100), kMib, "", "train.py:5 in train").free(place(100));
  }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].phase, "train");
  EXPECT_EQ(found[0].per_step, Bytes::mib(2));
  ASSERT_EQ(found[0].lines.size(), 1u);
  EXPECT_EQ(found[0].lines[0].line, "train.py:9 in train");
  EXPECT_EQ(found[0].lines[0].scope, "head");
  EXPECT_EQ(found[0].lines[0].blocks_per_step, 1);
  ASSERT_EQ(found[0].levels.size(), 6u);
  EXPECT_EQ(found[0].levels.back() - found[0].levels.front(), Bytes::mib(10));
}

TEST(Growth, what_the_collector_frees_when_it_is_asked_was_held_by_nobody) {
  // Each step leaves a cycle behind; at steps 8, 16, 24 and 32 the collector is asked.
  RecordingBuilder builder;
  builder.segment(1, 1000 * kMib);
  model::notes::Collected note;
  std::vector<model::notes::Collected> all;
  std::int64_t now = 0;
  for (int number = 1; number <= 40; ++number) {
    builder.at(++now).alloc(place(number), kMib, "", "train.py:9 in train");
    builder.at(++now).emit(VF_RECORD_STEP, 0, number);
    if (number % 8 != 0) continue;
    note.begun_ns = now;
    for (int gone = number - 7; gone <= number; ++gone) builder.at(++now).free(place(gone));
    note.ended_ns = now;
    all.push_back(note);
  }
  std::vector<model::Recording> recordings = {builder.build()};
  EXPECT_FALSE(build_histories(recordings).at(0).blocks.front().collected);
  recordings[0].notes.collected = all;
  EXPECT_TRUE(build_histories(recordings).at(0).blocks.front().collected);
  EXPECT_TRUE(growth_of(recordings).empty());
}

TEST(Growth, a_late_leak_is_seen_among_cycles_as_far_as_the_collector_was_asked) {
  // Each step leaves a cycle behind, and each from the 60th on something that is held as well.
  const auto judged = [](int asked_last) {
    RecordingBuilder builder;
    builder.segment(1, 4000 * kMib);
    std::vector<model::notes::Collected> all;
    std::int64_t now = 0;
    int gone = 1;
    for (int number = 1; number <= 110; ++number) {
      builder.at(++now).alloc(place(number), 2 * kMib, "", "train.py:9 in train");
      if (number >= 60) builder.at(++now).alloc(place(1000 + number), kMib, "", "train.py:20 in train");
      builder.at(++now).emit(VF_RECORD_STEP, 0, number);
      if (number % 10 != 0 || number > asked_last) continue;
      model::notes::Collected note;
      note.is_on = true;
      note.begun_ns = now;
      for (; gone <= number; ++gone) builder.at(++now).free(place(gone));
      note.ended_ns = now;
      all.push_back(note);
    }
    std::vector<model::Recording> recordings = {builder.build()};
    recordings[0].notes.collected = all;
    return growth_of(recordings);
  };
  const auto found = judged(100);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].per_step, Bytes::mib(1));
  EXPECT_NEAR(static_cast<double>(*found[0].begins_at), 60, 3);
  EXPECT_TRUE(judged(50).empty()) << "all of it may be cycles";
}

TEST(Growth, calls_of_a_model_are_passes_where_no_step_is_taken) {
  RecordingBuilder builder;
  builder.phase = VF_PHASE_TEST;
  builder.segment(1, 1000 * kMib);
  model::notes::ModelCalls calls;
  calls.stride = 1;
  std::int64_t now = 0;
  for (int call = 1; call <= 40; ++call) {
    calls.begun_ns.push_back(now);
    builder.at(++now).alloc(place(1000), 8 * kMib, "layers.0", "eval.py:9 in main");
    builder.at(++now).alloc(place(call), kMib, "head", "eval.py:9 in main").free(place(1000));
  }
  std::vector<model::Recording> recordings = {builder.build()};
  EXPECT_TRUE(find_growth_of_calls(build_histories(recordings).at(0), recordings).empty());
  recordings[0].notes.model_calls.push_back(calls);
  const auto histories = build_histories(recordings);
  const auto found = find_growth_of_calls(histories.at(0), recordings);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].unit, "pass");
  EXPECT_EQ(found[0].per_step, Bytes::mib(1));
  EXPECT_EQ(found[0].lines.at(0).line, "eval.py:9 in main");
  EXPECT_GE(count_judged_calls(histories.at(0), recordings), 38);
}

TEST(Growth, where_each_step_adds_more_the_card_is_full_sooner) {
  RecordingBuilder builder;
  builder.segment(1, 100'000 * kMib);
  for (int number = 1; number <= 200; ++number) {
    builder.alloc(place(number), (20 + number) * kMib, "", "train.py:9 in train");
    builder.emit(VF_RECORD_STEP, 0, number);
  }
  const auto found = growth_of({builder.build()});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].faster, kMib, 0.05 * kMib);
  // The level is 20 n + n^2 / 2 MiB: 24,000 at step 200, and 93,600 at step 413.
  EXPECT_NEAR(static_cast<double>(find_end(found[0], Bytes::mib(69'600)).value()), 413, 15);
}

// A truncated graph of 20 calls is built up before each step, which frees it.
TEST(Growth, calls_whose_graph_the_step_frees_are_no_passes_that_pile_up) {
  const auto built = [](bool kept) {
    RecordingBuilder builder;
    builder.phase = VF_PHASE_TRAIN;
    builder.segment(1, 1000 * kMib);
    model::notes::ModelCalls calls;
    calls.stride = 1;
    std::int64_t now = 0;
    for (int step = 0; step < 3; ++step) {
      for (int call = 0; call < 20; ++call) {
        calls.begun_ns.push_back(now);
        builder.at(++now).alloc(place(step * 20 + call), kMib, "cell", "train.py:8 in main");
      }
      for (int call = 0; call < 20 && !kept; ++call) builder.at(++now).free(place(step * 20 + call));
      builder.emit(VF_RECORD_STEP, 0, step + 1);
    }
    std::vector<model::Recording> recordings = {builder.build()};
    recordings[0].notes.model_calls.push_back(calls);
    const auto histories = build_histories(recordings);
    return find_growth_of_calls(histories.at(0), recordings);
  };
  EXPECT_TRUE(built(false).empty());
  EXPECT_EQ(built(true).size(), 1u);
}

// Two more weights are trained every four steps; the optimizer's state comes with them.
TEST(Growth, state_of_weights_that_are_trained_later_ends_with_the_weights) {
  const auto built = [](int states) {
    RecordingBuilder builder;
    builder.phase = VF_PHASE_LOAD;
    builder.segment(1, 4000 * kMib);
    for (int weight = 0; weight < 12; ++weight) {
      builder.alloc(place(weight), kMib, "", "train.py:3 in main").tag(place(weight), VF_OWNER_WEIGHT, "w");
    }
    builder.phase = VF_PHASE_TRAIN;
    int made = 100;
    for (int step = 0; step < 44; ++step) {
      for (int state = 0; step % 4 == 0 && state < states; ++state, ++made) {
        builder.alloc(place(made), kMib, "", "train.py:9 in main").tag(place(made), VF_OWNER_OPTIMIZER, "exp_avg");
      }
      builder.emit(VF_RECORD_STEP, 0, step + 1);
    }
    return growth_of({builder.build()});
  };
  EXPECT_TRUE(built(2).empty()) << "22 states of 12 weights";
  EXPECT_EQ(built(6).size(), 1u) << "66 of them: old optimizers are kept";
}

// Every second request of a server leaves something.
TEST(Growth, a_process_that_only_evaluates_is_judged_in_any_rhythm) {
  const auto served = [](bool trains) {
    RecordingBuilder builder;
    builder.phase = VF_PHASE_TEST;
    builder.segment(1, 1000 * kMib);
    std::int64_t now = 0;
    for (int call = 1; call <= 60; ++call) {
      if (call % 2 == 0) builder.at(++now).alloc(place(call), kMib, "", "serve.py:9 in answer");
      builder.at(++now).emit(VF_RECORD_STEP, 0, call);
    }
    if (trains) {
      builder.phase = VF_PHASE_TRAIN;
      builder.at(++now).emit(VF_RECORD_STEP, 0, 61);
    }
    return growth_of({builder.build()});
  };
  const auto found = served(false);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].unit, "pass");
  EXPECT_EQ(found[0].lines.at(0).line, "serve.py:9 in answer");
  EXPECT_TRUE(served(true).empty()) << "what an evaluation keeps may be for the training";
}

TEST(Growth, steps_past_the_first_cut_judge_nothing) {
  auto recordings = record(30, [](RecordingBuilder&, int) {});
  EXPECT_EQ(count_judged_steps(build_histories(recordings).at(0), recordings), 30);
  recordings[0].notes.run_on.emplace_back().steps_in_full = 7;
  EXPECT_EQ(count_judged_steps(build_histories(recordings).at(0), recordings), 7);
}

TEST(Growth, a_window_of_the_last_steps_is_none) {
  const auto found = growth_of(record(12, [](RecordingBuilder& builder, int number) {
    builder.alloc(place(number), kMib, "", "train.py:9 in train");
    if (number > 4) builder.free(place(number - 4));
  }));
  EXPECT_TRUE(found.empty());
}

TEST(Growth, steps_of_passes_that_were_cut_tell_no_rhythm) {
  // Once an epoch of 10 steps; past the budget an epoch is one step.
  auto recordings = record(90, [](RecordingBuilder& builder, int number) {
    if (number > 60 || number % 10 == 0) builder.alloc(place(number), kMib, "", "train.py:9 in train");
  });
  recordings[0].notes.run_on.emplace_back().steps_in_full = 60;
  const auto found = growth_of(recordings);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].every, 10);
  EXPECT_FALSE(found[0].of_peak);
}

TEST(Growth, what_begins_past_the_budget_is_told_with_its_line_and_by_the_number_it_began_at) {
  // 60 steps in full; then the loop is counted on to 3,000, from where on a line keeps what it makes.
  auto recordings = record(66, [](RecordingBuilder& builder, int number) {
    if (number > 60) builder.alloc(place(number), 4 * kMib, "", "train.py:8 in train");
  });
  recordings[0].notes.run_on.emplace_back().steps_in_full = 60;
  EXPECT_TRUE(growth_of(recordings).empty());
  recordings[0].notes.late_growth.push_back({3000, 60, 6, Bytes(4 * kMib)});
  const auto found = growth_of(recordings);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].begins_at, 3000);
  ASSERT_EQ(found[0].lines.size(), 1u);
  EXPECT_EQ(found[0].lines[0].line, "train.py:8 in train");
  EXPECT_EQ(find_end(found[0], Bytes::mib(400)), 3106);
  EXPECT_EQ(describe_growth(found[0]).substr(0, 52), "from about 3,000 on, memory rises by 4.0 MiB every s");
}

TEST(Growth, inputs_that_get_longer_raise_what_a_step_needs) {
  const auto found = growth_of(record(60, [](RecordingBuilder& builder, int number) {
    builder.alloc(place(100), number * kMib, "", "train.py:5 in train").free(place(100));
  }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].of_peak);
  EXPECT_NEAR(found[0].per_step.as_mib(), 1, 0.2);
  EXPECT_NEAR(static_cast<double>(find_end(found[0], Bytes::mib(100)).value()), 160, 25);
}

TEST(Growth, a_variable_that_the_next_step_overwrites_is_none) {
  const auto found = growth_of(record(8, [](RecordingBuilder& builder, int number) {
    builder.alloc(place(number), kMib, "", "train.py:9 in train");
    if (number > 1) builder.free(place(number - 1));
  }));
  EXPECT_TRUE(found.empty());
}

TEST(Growth, a_list_that_an_epoch_empties_grew_within_it) {
  const auto found = growth_of(record(8, [](RecordingBuilder& builder, int number) {
    builder.alloc(place(number), kMib, "", "train.py:9 in train");
    if (number != 4 && number != 8) return;
    for (int past = number - 3; past <= number; ++past) builder.free(place(past));
  }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].steps, 3);
}

TEST(Growth, weights_and_optimizer_states_never_count) {
  const auto found = growth_of(record(6, [](RecordingBuilder& builder, int number) {
    builder.alloc(place(number), kMib).tag(place(number), number % 2 ? VF_OWNER_OPTIMIZER : VF_OWNER_WEIGHT);
  }));
  EXPECT_TRUE(found.empty());
}

TEST(Growth, of_several_evaluations_the_one_that_grew_most_is_told) {
  RecordingBuilder builder;
  builder.segment(1, 1000 * kMib);
  int next = 1;
  for (const int mib : {1, 3}) {
    builder.phase = VF_PHASE_VALIDATE;
    const int first = next;
    for (int batch = 1; batch <= 4; ++batch) {
      builder.alloc(place(next++), mib * kMib, "", "train.py:30 in validate").emit(VF_RECORD_STEP, 0, batch);
    }
    builder.phase = VF_PHASE_TRAIN;
    for (int block = first; block < next; ++block) builder.free(place(block));
    builder.emit(VF_RECORD_STEP, 0, 1);
  }
  const std::vector<model::Recording> recordings{builder.build()};
  const auto found = growth_of(recordings);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].phase, "validate");
  EXPECT_EQ(found[0].per_step, Bytes::mib(3));
}

}  // namespace
}  // namespace vramfit::liveness
