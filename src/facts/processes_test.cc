#include "facts/processes.h"

#include <gtest/gtest.h>

#include "facts/recordings.h"
#include "facts/run_facts.h"
#include "model/recording.h"

namespace vramfit::facts {
namespace {

using base::Bytes;

vf_record record_of(vf_record_kind kind, std::uint8_t device, std::int64_t size, std::int64_t allocated = 0) {
  vf_record record{};
  record.kind = static_cast<decltype(record.kind)>(kind);
  record.device = device;
  record.size = size;
  record.a = allocated;
  return record;
}

model::Recording recording_of(const std::vector<vf_record>& records) {
  auto storage = std::make_shared<std::vector<vf_record>>(records);
  model::Recording recording;
  recording.pid = 7;
  recording.records = *storage;
  recording.storage = storage;
  return recording;
}

TEST(Processes, hold_contexts_libraries_and_their_most_of_each_card) {
  const Process process = read_process(recording_of(
      {record_of(VF_RECORD_CONTEXT, 1, 300), record_of(VF_RECORD_LIBRARY, 1, 20), record_of(VF_RECORD_LIBRARY, 1, 30),
       record_of(VF_RECORD_BLOCK_ALLOC, 0, 8, 80), record_of(VF_RECORD_BLOCK_ALLOC, 0, 8, 40)}));
  ASSERT_EQ(process.cards.size(), 2u);
  EXPECT_EQ(process.cards[0].peak_allocated, Bytes(80));
  EXPECT_FALSE(process.cards[0].has_context);
  EXPECT_EQ(process.cards[1].context, Bytes(300));
  EXPECT_EQ(process.cards[1].libraries, Bytes(50));
  EXPECT_TRUE(process.has_recorded);
}

TEST(Processes, of_a_job_of_several_ranks_are_ranks_and_workers_stay_workers) {
  model::Recording recording;
  recording.notes.rank.emplace_back();
  recording.notes.rank.back().rank = 1;
  recording.notes.rank.back().world_size = 2;
  EXPECT_EQ(read_process(recording).role, model::JobRole::kRank);
  EXPECT_EQ(read_process(recording).rank, 1);
  recording.notes.role.emplace_back();
  recording.notes.role.back().role = model::notes::LaterRole::kWorker;
  EXPECT_EQ(read_process(recording).role, model::JobRole::kWorker);
  EXPECT_FALSE(read_process(recording).has_recorded);
}

TEST(RunFacts, count_the_contexts_of_a_card_over_all_processes) {
  const auto facts = gather({recording_of({record_of(VF_RECORD_CONTEXT, 0, 300)}),
                             recording_of({record_of(VF_RECORD_CONTEXT, 0, 300), record_of(VF_RECORD_CONTEXT, 1, 300)}),
                             recording_of({record_of(VF_RECORD_BLOCK_ALLOC, 0, 8, 8)})});
  ASSERT_EQ(facts->cards.size(), 2u);
  EXPECT_EQ(facts->cards[0].contexts, 2);
  EXPECT_EQ(facts->cards[1].contexts, 1);
  EXPECT_NE(facts->history_of(0), nullptr);
  EXPECT_EQ(facts->history_of(5), nullptr);
}

}  // namespace
}  // namespace vramfit::facts
