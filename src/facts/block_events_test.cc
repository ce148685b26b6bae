#include "facts/block_events.h"

#include <gtest/gtest.h>

#include "facts/recordings.h"
#include "model/recording.h"

namespace vramfit::facts {
namespace {

class BlockEventsTest : public ::testing::Test {
 protected:
  vf_record& add(vf_record_kind kind, std::int64_t size, std::uint64_t address = 0) {
    vf_record& record = records_.emplace_back();
    record.kind = static_cast<decltype(record.kind)>(kind);
    record.size = size;
    record.address = address;
    return record;
  }
  RunFactsPtr facts() {
    model::Recording recording;
    recording.records = records_;
    recording.strings = strings_;
    return gather({recording});
  }
  std::vector<vf_record> records_;
  std::vector<std::string> strings_;
};

TEST_F(BlockEventsTest, are_allocations_and_frees_of_one_card_with_the_totals_after_them) {
  strings_ = {"train.py:3"};
  vf_record& born = add(VF_RECORD_BLOCK_ALLOC, 512, 0x100);
  born.a = 512;
  born.b = 2 << 20;
  born.line = 1;
  add(VF_RECORD_BLOCK_FREE, 512, 0x100);
  add(VF_RECORD_BLOCK_ALLOC, 1024, 0x200).device = 1;
  const auto facts = this->facts();
  const auto events = block_events(*facts, 0);
  ASSERT_EQ(events.size(), 1u);
  ASSERT_EQ(events[0].size(), 2u);
  EXPECT_EQ(events[0][0].bytes, 512);
  EXPECT_EQ(events[0][0].reserved, 2 << 20);
  EXPECT_EQ(events[0][0].line, "train.py:3");
  EXPECT_EQ(events[0][1].bytes, -512);
  EXPECT_EQ(events[0][1].address, 0x100u);
}

TEST_F(BlockEventsTest, the_first_block_that_is_large_enough_after_a_plan_is_its_workspace) {
  add(VF_RECORD_WORKSPACE, 4096);
  add(VF_RECORD_BLOCK_ALLOC, 512);
  add(VF_RECORD_BLOCK_ALLOC, 4608);
  add(VF_RECORD_BLOCK_ALLOC, 8192);
  const auto facts = this->facts();
  const auto events = block_events(*facts, 0)[0];
  EXPECT_FALSE(events[0].is_workspace);
  EXPECT_TRUE(events[1].is_workspace);
  EXPECT_FALSE(events[2].is_workspace);
}

TEST_F(BlockEventsTest, a_marked_size_names_its_layer_unless_two_layers_have_it) {
  strings_ = {"engine 0; conv A", "engine 1; conv B", "no layer"};
  add(VF_RECORD_WORKSPACE, 512).text = 1;
  add(VF_RECORD_WORKSPACE, 1024).text = 1;
  add(VF_RECORD_WORKSPACE, 1024).text = 2;
  add(VF_RECORD_WORKSPACE, 1536).text = 3;
  const auto marks = workspace_marks(*facts());
  EXPECT_EQ(marks.at(512), "conv A");
  EXPECT_EQ(marks.at(1024), "");
  EXPECT_FALSE(marks.contains(1536));
}

}  // namespace
}  // namespace vramfit::facts
