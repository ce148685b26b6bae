#include "probe/ledger_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>
#include <vramfit/recording.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <memory>

#include "base/file.h"
#include "probe/machine_probe.h"
#include "probe/recording_tail.h"

namespace vramfit::probe {
namespace {

namespace fs = std::filesystem;
using model::Reading;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

class LedgerSourceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("sessions." + std::to_string(::getpid()));
    fs::create_directories(folder_);
    path_ = folder_ / "vramfit.123-abc";
    auto ledger = std::make_unique<vf_ledger>();
    std::memset(static_cast<void*>(ledger.get()), 0, sizeof(vf_ledger));
    ledger->magic = VF_LEDGER_MAGIC;
    ledger->version = VF_LEDGER_VERSION;
    ledger->card_count = 1;
    std::strcpy(ledger->cards[0].name, "Virtual");
    ledger->cards[0].uuid[0] = 0xab;
    ledger->cards[0].total_bytes = 8 * kGib;
    ledger->use[0] = {.used_bytes = 3 * kGib, .peak_used_bytes = 5 * kGib};
    ledger->processes[2].pid = ::getpid();
    ledger->processes[2].used_bytes[0] = 2 * kGib;
    ledger->processes[2].context_bytes[0] = kGib / 4;
    std::ofstream(path_, std::ios::binary).write(reinterpret_cast<const char*>(ledger.get()), sizeof(vf_ledger));
  }
  void TearDown() override { fs::remove_all(folder_); }

  base::FileDescriptor lock() const {
    base::FileDescriptor file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(::flock(file.number(), LOCK_EX | LOCK_NB), 0);
    return file;
  }
  fs::path folder_, path_;
};

TEST_F(LedgerSourceTest, only_sessions_that_live_are_shown) {
  LedgerSource source(folder_, 0);
  EXPECT_TRUE(source.sessions(1).empty());
  auto held = lock();
  ASSERT_EQ(source.sessions(2).size(), 1u);
  EXPECT_EQ(source.sessions(3)[0].owner(), 123);
  held.close();
  EXPECT_TRUE(source.sessions(4).empty());
}

TEST_F(LedgerSourceTest, a_file_that_is_no_ledger_is_refused) {
  std::ofstream(folder_ / "vramfit.short") << "no";
  EXPECT_FALSE(LedgerView::open(folder_ / "vramfit.short"));
  fs::resize_file(folder_ / "vramfit.short", sizeof(vf_ledger));
  EXPECT_FALSE(LedgerView::open(folder_ / "vramfit.short"));
}

TEST_F(LedgerSourceTest, a_ledger_that_another_process_cuts_off_is_an_error_and_no_signal) {
  const auto held = lock();
  LedgerSource source(folder_, std::int64_t{1} << 60);  // it looks for new ones once
  ASSERT_EQ(source.sessions(1).size(), 1u);
  auto view = LedgerView::open(path_);
  ASSERT_TRUE(view);
  fs::resize_file(path_, 100);
  EXPECT_FALSE(view->read_again());
  EXPECT_EQ(view->ledger().use[0].peak_used_bytes, 5 * kGib) << "as it was";
  EXPECT_TRUE(source.sessions(2).empty());
  EXPECT_FALSE(LedgerView::open(path_));
}

TEST_F(LedgerSourceTest, what_a_session_writes_is_seen_at_the_next_look_and_after_its_file_is_gone) {
  const auto held = lock();
  LedgerSource source(folder_, std::int64_t{1} << 60);
  LedgerView view = source.sessions(1).at(0);
  const std::int64_t used = 4 * kGib;
  const auto place = static_cast<off_t>(offsetof(vf_ledger, use));
  ASSERT_EQ(::pwrite(held.number(), &used, sizeof used, place), static_cast<ssize_t>(sizeof used));
  EXPECT_EQ(source.sessions(2).at(0).ledger().use[0].used_bytes, used);
  fs::remove(path_);
  ASSERT_TRUE(view.read_again());
  EXPECT_EQ(view.ledger().use[0].used_bytes, used);
}

TEST_F(LedgerSourceTest, a_session_is_shown_beside_a_driver_that_is_not_there) {
  const auto held = lock();
  MachineProbe probe(
      {.open_nvml = [] { return base::fail(base::ErrorCode::kNotFound, "no driver"); }, .session_folder = folder_});
  const auto sample = probe.read(1, 2);
  EXPECT_FALSE(sample.driver.answers);
  ASSERT_EQ(sample.cards.size(), 1u);
  EXPECT_EQ(sample.cards[0].session, "123-abc");
  EXPECT_EQ(sample.cards[0].peak_used_bytes, Reading(5 * kGib));
  EXPECT_EQ(sample.cards[0].unexplained_bytes, Reading(kGib));
  ASSERT_EQ(sample.processes.size(), 1u);
  EXPECT_EQ(sample.processes[0].uses[0].context_bytes, Reading(kGib / 4));
  EXPECT_EQ(sample.processes[0].uses[0].card, sample.cards[0].uuid);
}

TEST_F(LedgerSourceTest, the_end_of_a_recording_tells_what_the_allocator_has) {
  const fs::path path = folder_ / "recording.1.vfr";
  std::ofstream file(path, std::ios::binary);
  const vf_recording_header header{.magic = VF_RECORDING_MAGIC, .record_bytes = sizeof(vf_record), .pid = 1};
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  for (int i = 1; i <= 1000; ++i) {
    const auto kind = static_cast<std::uint8_t>(i > 900 ? VF_RECORD_MATMUL : VF_RECORD_BLOCK_ALLOC);
    const vf_record record{.kind = kind, .device = static_cast<std::uint8_t>(i % 2), .a = i, .b = 2 * i};
    file.write(reinterpret_cast<const char*>(&record), sizeof record);
  }
  file.close();
  fs::resize_file(path, fs::file_size(path) + (4 << 20));  // what the recorder has mapped ahead is zero
  const auto tail = read_recording_tail(path);
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->at(0), (AllocatorReading{900, 1800}));
  EXPECT_EQ(tail->at(1), (AllocatorReading{899, 1798}));
  std::ofstream(folder_ / "recording.2.vfr") << "no";
  EXPECT_FALSE(read_recording_tail(folder_ / "recording.2.vfr"));
}

}  // namespace
}  // namespace vramfit::probe
