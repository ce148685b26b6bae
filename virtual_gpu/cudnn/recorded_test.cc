#include "virtual_gpu/cudnn/recorded.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace vramfit::cudnn {
namespace {

constexpr Layer kSmall{.channels = 64,
                       .height = 56,
                       .width = 56,
                       .outputs = 64,
                       .kernel = {3, 3},
                       .stride = {1, 1},
                       .padding = {1, 1},
                       .dilation = {1, 1},
                       .groups = 1};
constexpr Layer kPointwise{.channels = 64,
                           .height = 56,
                           .width = 56,
                           .outputs = 256,
                           .kernel = {1, 1},
                           .stride = {1, 1},
                           .padding = {0, 0},
                           .dilation = {1, 1},
                           .groups = 1};
constexpr int64_t kMiB = 1 << 20;

void put(std::string& bytes, uint32_t word) { bytes.append(reinterpret_cast<const char*>(&word), sizeof word); }
void put(std::string& bytes, int64_t workspace, uint32_t engine, uint32_t flags) {
  bytes.append(reinterpret_cast<const char*>(&workspace), sizeof workspace);
  put(bytes, engine);
  put(bytes, flags);
}

// Capability 8.0, batches 8 and 32, two layers. Only forward float32 NCHW of the first is known: 10 MiB with tensor
// cores or nothing at 8, 40 MiB at 32.
std::string small_table() {
  std::string bytes("VFCW\x01\0\0\0", 8);
  for (const uint32_t count : {92000u, 1u, 2u, 2u, 2u, 3u}) put(bytes, count);
  for (const uint32_t word : {80u, 8u, 32u}) put(bytes, word);
  for (const Layer& layer : {kSmall, kPointwise}) bytes.append(reinterpret_cast<const char*>(&layer), sizeof layer);
  for (uint32_t at = 0; at < 3 * kCases * 2 * 2; ++at) put(bytes, at == 0 ? 0 : at == 2 ? 1 : 0xFFFFFFFF);
  for (const uint32_t first : {0u, 2u, 3u}) put(bytes, first);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  put(bytes, 10 * kMiB, 34, 1);
  put(bytes, 0, 28, 0);
  put(bytes, 40 * kMiB, 34, 3);
  return bytes;
}

Problem problem(int32_t batch, const Layer& layer = kSmall) {
  return {.capability = 80, .direction = Direction::kForward, .kind = 0, .batch = batch, .layer = layer};
}

class Recorded : public ::testing::Test {
 protected:
  std::string bytes_ = small_table();
  std::optional<RecordedTable> table_ = RecordedTable::open(bytes_);
};

TEST_F(Recorded, the_very_convolution_has_its_own_plans_in_order) {
  ASSERT_TRUE(table_);
  EXPECT_EQ(table_->cudnn_version(), 92000u);
  const auto found = table_->find(problem(8));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->match, Match::kExact);
  ASSERT_EQ(found->choices.size(), 2u);
  EXPECT_EQ(found->choices[0].workspace_bytes, 10 * kMiB);
  EXPECT_EQ(found->choices[0].numerical_notes, std::vector<int32_t>{kNoteTensorCore});
  EXPECT_EQ(found->choices[1].workspace_bytes, 0);
  EXPECT_TRUE(found->choices[1].numerical_notes.empty());
}

TEST_F(Recorded, another_batch_reads_as_the_nearest_one_scaled) {
  const auto found = table_->find(problem(64));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->match, Match::kOtherBatch);
  EXPECT_NEAR(static_cast<double>(found->choices[0].workspace_bytes), 80.0 * kMiB, 1.0 * kMiB);
  EXPECT_EQ(found->choices[0].numerical_notes, (std::vector<int32_t>{kNoteTensorCore, kNoteNondeterministic}));
}

TEST_F(Recorded, what_was_not_recorded_is_unknown) {
  EXPECT_FALSE(table_->find(problem(8, kPointwise)));  // its layer is there, its plans are not
  Layer wider = kSmall;
  wider.channels = 2 * kSmall.channels;
  EXPECT_FALSE(table_->find(problem(8, wider)));
  Layer strided = kSmall;
  strided.stride = {2, 2};
  EXPECT_FALSE(table_->find(problem(8, strided)));
  Problem data = problem(8);
  data.direction = Direction::kData;
  EXPECT_FALSE(table_->find(data));
}

TEST_F(Recorded, a_card_newer_than_the_recorded_reads_as_the_one_below_and_an_older_one_is_unknown) {
  Problem newer = problem(8), older = problem(8);
  newer.capability = 87;
  older.capability = 75;
  EXPECT_TRUE(table_->find(newer));
  EXPECT_FALSE(table_->find(older));
}

TEST_F(Recorded, damaged_tables_are_refused) {
  for (size_t size = 0; size < bytes_.size(); size += 4) {
    EXPECT_FALSE(RecordedTable::open(std::string_view(bytes_).substr(0, size))) << size;
  }
  std::string longer = bytes_ + "12345678";
  EXPECT_FALSE(RecordedTable::open(longer));
  std::string out_of_range = bytes_;
  const uint32_t list = 7;
  std::memcpy(out_of_range.data() + 8 + 24 + 12 + 2 * sizeof(Layer), &list, sizeof list);
  EXPECT_FALSE(RecordedTable::open(out_of_range));
}

TEST(RecordedData, half_precision_in_nchw_copies_its_tensors_on_tensor_cores) {
  std::ifstream file(VRAMFIT_TEST_TABLE, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto table = RecordedTable::open(bytes);
  ASSERT_TRUE(table);
  Problem half = problem(32);
  half.capability = 86;
  half.kind = 2;
  const auto nchw = table->find(half);
  half.kind = 3;
  const auto nhwc = table->find(half);
  ASSERT_TRUE(nchw && nhwc);
  EXPECT_EQ(nchw->match, Match::kExact);
  const int64_t tensor_bytes = 32LL * 64 * 56 * 56 * 2;
  EXPECT_GE(nchw->choices[0].workspace_bytes, 2 * tensor_bytes);
  EXPECT_LT(nhwc->choices[0].workspace_bytes, tensor_bytes);
}

}  // namespace
}  // namespace vramfit::cudnn
