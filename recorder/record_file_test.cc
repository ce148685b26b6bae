#include "record_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

namespace vramfit::recorder {
namespace {

vf_record block(int64_t size) {
  vf_record record{};
  record.kind = VF_RECORD_BLOCK_ALLOC;
  record.size = size;
  return record;
}

class RecordFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "vramfit_records_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/recording.1.vfr"; }

  std::vector<vf_record> records() const {
    std::ifstream file(path(), std::ios::binary);
    vf_recording_header header{};
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    EXPECT_EQ(header.magic, VF_RECORDING_MAGIC);
    EXPECT_EQ(header.record_bytes, sizeof(vf_record));
    std::vector<vf_record> all;
    for (vf_record record; file.read(reinterpret_cast<char*>(&record), sizeof record) && record.kind != 0;) {
      all.push_back(record);
    }
    return all;
  }

  std::string folder_;
};

constexpr size_t kNoLimit = 1ull << 30;

TEST_F(RecordFileTest, a_phase_is_corrected_from_a_moment_on) {
  RecordFile file(path(), kNoLimit);
  const auto put = [&](uint8_t kind, uint8_t phase) {
    vf_record record = block(1);
    record.kind = kind;
    record.phase = phase;
    file.append(record);
  };
  file.relabel(1, VF_PHASE_VALIDATE, VF_PHASE_TRAIN);  // of an empty recording
  put(VF_RECORD_BLOCK_ALLOC, VF_PHASE_VALIDATE);
  const uint64_t from = file.next_slot();
  put(VF_RECORD_BLOCK_ALLOC, VF_PHASE_VALIDATE);
  put(VF_RECORD_STEP, VF_PHASE_VALIDATE);
  put(VF_RECORD_STEP, VF_PHASE_TEST);
  file.relabel(from, VF_PHASE_VALIDATE, VF_PHASE_TRAIN);
  const std::vector<vf_record> all = records();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].phase, VF_PHASE_VALIDATE);
  EXPECT_EQ(all[1].phase, VF_PHASE_TRAIN);
  EXPECT_EQ(all[2].phase, VF_PHASE_TRAIN);
  EXPECT_EQ(all[2].kind, VF_RECORD_PHASE);
  EXPECT_EQ(all[3].kind, VF_RECORD_STEP);
}

TEST_F(RecordFileTest, nothing_is_created_before_the_first_record) {
  RecordFile file(path(), kNoLimit);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(RecordFileTest, records_come_back_in_order_across_windows) {
  RecordFile file(path(), kNoLimit);
  const auto count = static_cast<int64_t>(RecordFile::kSlotsPerWindow * 3 + 7);
  for (int64_t i = 1; i <= count; ++i) ASSERT_TRUE(file.append(block(i)));
  const auto all = records();
  ASSERT_EQ(all.size(), static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(all[static_cast<size_t>(i)].size, i + 1);
}

TEST_F(RecordFileTest, threads_lose_nothing) {
  RecordFile file(path(), kNoLimit);
  constexpr int64_t kEach = 30'000;
  {
    std::vector<std::jthread> threads;
    for (int64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&file, t] {
        for (int64_t i = 0; i < kEach; ++i) file.append(block(t * kEach + i + 1));
      });
    }
  }
  std::set<int64_t> seen;
  for (const vf_record& record : records()) seen.insert(record.size);
  EXPECT_EQ(seen.size(), static_cast<size_t>(4 * kEach));
  EXPECT_EQ(*seen.begin(), 1);
  EXPECT_EQ(*seen.rbegin(), 4 * kEach);
}

TEST_F(RecordFileTest, the_limit_stops_it_and_keeps_what_is_there) {
  RecordFile file(path(), RecordFile::kWindowBytes);
  int64_t kept = 0;
  while (file.append(block(1))) ++kept;
  EXPECT_EQ(file.why_stopped(), RecordFile::Stopped::kLimit);
  EXPECT_EQ(kept, static_cast<int64_t>(RecordFile::kSlotsPerWindow) - 1);  // the header has a slot
  EXPECT_EQ(std::filesystem::file_size(path()), RecordFile::kWindowBytes);
  EXPECT_EQ(records().size(), static_cast<size_t>(kept));
}

TEST_F(RecordFileTest, no_folder_is_said_and_not_fatal) {
  RecordFile file(folder_ + "/absent/recording.vfr", kNoLimit);
  EXPECT_FALSE(file.append(block(1)));
  EXPECT_EQ(file.why_stopped(), RecordFile::Stopped::kCannotOpen);
  EXPECT_EQ(file.error(), ENOENT);
}

// RLIMIT_FSIZE stands for a full disk: both make the file unable to grow.
TEST_F(RecordFileTest, a_file_that_cannot_grow_is_said_and_keeps_what_is_there) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{RecordFile::kWindowBytes, RecordFile::kWindowBytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    RecordFile file(path(), kNoLimit);
    size_t kept = 0;
    while (file.append(block(1))) ++kept;
    const bool right =
        file.why_stopped() == RecordFile::Stopped::kCannotGrow && kept == RecordFile::kSlotsPerWindow - 1;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(records().size(), RecordFile::kSlotsPerWindow - 1);
}

TEST_F(RecordFileTest, kill_minus_9_leaves_every_record) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    RecordFile file(path(), kNoLimit);
    for (int64_t i = 1; i <= 1000; ++i) file.append(block(i));
    [[maybe_unused]] const ssize_t sent = write(ready[1], "x", 1);
    pause();
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(records().size(), 1000u);
}

}  // namespace
}  // namespace vramfit::recorder
