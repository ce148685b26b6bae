#include "ingest/text/memory_label.h"

#include <gtest/gtest.h>

#include "ingest/text/memory_table.h"
#include "ingest/text/printed_size.h"

namespace vramfit::ingest {
namespace {

std::int64_t bytes_in(std::string_view line) {
  const auto found = find_labelled_memory(line);
  return found.size() == 1 && found.front().bytes ? found.front().bytes->value.count()
                                                  : -static_cast<std::int64_t>(found.size());
}

TEST(MemoryLabel, numbers_that_a_log_calls_memory_are_read_in_any_form) {
  EXPECT_EQ(bytes_in("step 10: loss=2.290 cuda_mem=1325400064"), 1325400064);
  EXPECT_EQ(bytes_in("loss 6.9 (6.9)\tgrad_norm 1.2\tmem 9075MB"), 9075 * kMib);
  EXPECT_EQ(bytes_in(R"({"step": 10, "gpu_mem_gb": 3.5, "lr": 0.001})"), 3 * kGib + kGib / 2);
  EXPECT_EQ(bytes_in("step 3 CUDA memory after optim step: 12.5 GiB"), 12 * kGib + kGib / 2);
  EXPECT_EQ(bytes_in("allocated (GB): 3.5"), 3 * kGib + kGib / 2);
  EXPECT_EQ(bytes_in("epoch 1 GPU Mem: 3.5/24.0 GB"), 3 * kGib + kGib / 2);
  EXPECT_EQ(bytes_in("DEBUG Free GPU ram: 13722"), 13722 * kMib);
  EXPECT_EQ(bytes_in("torch/maxMemAllocated=7123 it=5"), 7123 * kMib);
  const auto free = find_labelled_memory("ppl=550, gb_free=19.5, wall=200");
  ASSERT_EQ(free.size(), 1u);
  EXPECT_TRUE(free[0].kind.is_free);
  EXPECT_EQ(free[0].bytes->value.count(), 19 * kGib + kGib / 2);
}

TEST(MemoryLabel, what_is_no_amount_of_a_cards_memory_is_left_alone) {
  EXPECT_EQ(bytes_in("replay memory: 1200"), 0);
  EXPECT_EQ(bytes_in("memory bank size = 4096 MB"), 0);
  EXPECT_EQ(bytes_in("memory 1200/100000 epsilon 0.3"), 0) << "no unit, and no card is named";
  EXPECT_EQ(bytes_in("cpu_mem: 12.1 GB"), 0);
  EXPECT_EQ(bytes_in("free ram: 13722.5 MB"), 0);
  EXPECT_EQ(bytes_in("GPU mem util: 55 %"), 0);
  EXPECT_EQ(bytes_in("total memory: 24 GB"), 0);
  EXPECT_EQ(bytes_in("members: 12 GB"), 0);
  EXPECT_EQ(bytes_in("gpu_mem: 3"), 0) << "it may be a count";
}

std::optional<double> percent_in(std::string_view line) {
  const auto found = find_labelled_memory(line);
  return found.size() == 1 ? found.front().percent : std::nullopt;
}

TEST(MemoryLabel, shares_of_a_cards_memory_are_read_where_the_card_is_named) {
  EXPECT_EQ(percent_in("step 10 loss 2.3 GPU mem 61%"), 61);
  EXPECT_EQ(percent_in("[E3] vram: 74.5 % lr 1e-4"), 74.5);
  EXPECT_EQ(percent_in(R"({"step": 10, "gpu_mem_pct": 61.2})"), 61.2);
  EXPECT_EQ(percent_in("gpu memory allocated: 55 %"), 55);
  EXPECT_EQ(percent_in("memory: 55 %"), std::nullopt) << "the host's, for all that is said";
  EXPECT_EQ(percent_in("GPU mem util: 55 %"), std::nullopt);
  EXPECT_EQ(percent_in("gpu_mem: 3200 %"), std::nullopt);
  EXPECT_EQ(percent_in("gpu_mem_pct=61MB"), std::nullopt);
  EXPECT_EQ(percent_in("gpu_memory_utilization: 90%"), std::nullopt);
}

TEST(MemoryTable, columns_that_are_named_memory_are_read_row_by_row) {
  const auto commas = MemoryTable::open("step,loss,gpu_mem_mb,lr");
  ASSERT_TRUE(commas);
  const auto row = commas->read("10,2.290,3320,0.001");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->memory.bytes->value.count(), 3320 * kMib);
  EXPECT_EQ(row->step, 10);
  EXPECT_FALSE(commas->read("10,2.290,3320"));
  EXPECT_FALSE(commas->read("validation, done, in, 3 s"));
  const auto blanks = MemoryTable::open("     Epoch   gpu_mem       box       obj");
  ASSERT_TRUE(blanks);
  EXPECT_TRUE(blanks->read("     1/299     3.55G   0.01511   0.01221   100%|##| 250/250"));
  EXPECT_FALSE(MemoryTable::open("a line, of prose, with commas"));
  EXPECT_FALSE(MemoryTable::open("gpu_mem"));
}

}  // namespace
}  // namespace vramfit::ingest
