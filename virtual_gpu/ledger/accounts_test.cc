#include "virtual_gpu/ledger/accounts.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include "virtual_gpu/ledger/visible.h"
#include "virtual_gpu/testing/card_fixture.h"

namespace vramfit::ledger {
namespace {

using testing::create_session;
using testing::in_child;
using testing::kMiB;
using testing::open_session;

class Accounts : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = "/dev/shm/vramfit-accounts-test-" + std::to_string(getpid());
    testing::SessionOptions options;
    options.cards[0].total_bytes = 100 * kMiB;
    options.cards[0].occupied_bytes = 10 * kMiB;
    ASSERT_EQ(create_session(path_, options), "");
    ledger_ = open_session(path_);
    ASSERT_NE(ledger_, nullptr);
  }
  void TearDown() override {
    testing::close_session(ledger_);
    unlink(path_.c_str());
  }

  int claim() {
    const Lock lock(*ledger_);
    return claim_slot(lock, *ledger_, getpid());
  }
  bool take_bytes(int slot, int64_t bytes) {
    const Lock lock(*ledger_);
    return take(lock, *ledger_, slot, 0, bytes);
  }
  int64_t used() const { return ledger_->use[0].used_bytes; }

  std::string path_;
  vf_ledger* ledger_ = nullptr;
};

TEST_F(Accounts, memory_occupied_by_others_is_not_free) {
  const Lock lock(*ledger_);
  EXPECT_EQ(free_bytes(lock, *ledger_, 0), 90 * kMiB);
}

TEST_F(Accounts, the_last_byte_fits_and_one_more_does_not) {
  const int slot = claim();
  EXPECT_TRUE(take_bytes(slot, 90 * kMiB - 1));
  EXPECT_TRUE(take_bytes(slot, 1));
  EXPECT_FALSE(take_bytes(slot, 1));
  EXPECT_EQ(used(), 100 * kMiB);
  EXPECT_EQ(ledger_->use[0].refused, 1);
  EXPECT_EQ(ledger_->use[0].smallest_free_bytes_at_refusal, 0);
  EXPECT_EQ(ledger_->use[0].largest_refused_bytes, 1);
}

TEST_F(Accounts, a_refusal_changes_nothing_else) {
  const int slot = claim();
  EXPECT_FALSE(take_bytes(slot, INT64_MAX));
  EXPECT_EQ(used(), 10 * kMiB);
  EXPECT_EQ(ledger_->use[0].peak_used_bytes, 10 * kMiB);
}

TEST_F(Accounts, giving_back_keeps_the_peak) {
  const int slot = claim();
  ASSERT_TRUE(take_bytes(slot, 40 * kMiB));
  {
    const Lock lock(*ledger_);
    give_back(lock, *ledger_, slot, 0, 40 * kMiB);
  }
  EXPECT_EQ(used(), 10 * kMiB);
  EXPECT_EQ(ledger_->use[0].peak_used_bytes, 50 * kMiB);
  EXPECT_EQ(ledger_->processes[slot].peak_used_bytes[0], 40 * kMiB);
}

TEST_F(Accounts, a_killed_process_gives_its_memory_to_whoever_needs_it) {
  const int status = in_child([&] {
    const int slot = claim();
    if (!take_bytes(slot, 80 * kMiB)) return 1;
    return raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(used(), 90 * kMiB);
  EXPECT_TRUE(take_bytes(claim(), 90 * kMiB));
  EXPECT_EQ(used(), 100 * kMiB);
}

TEST_F(Accounts, a_living_process_keeps_its_memory) {
  int ready[2];
  int finish[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(finish), 0);
  const pid_t child = fork();
  char byte = 0;
  if (child == 0) {
    const bool taken = take_bytes(claim(), 80 * kMiB);
    if (write(ready[1], &byte, 1) != 1 || read(finish[0], &byte, 1) != 1) _exit(2);
    _exit(taken ? 0 : 1);
  }
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_FALSE(take_bytes(claim(), 20 * kMiB));
  ASSERT_EQ(write(finish[1], &byte, 1), 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(take_bytes(claim(), 20 * kMiB));
}

TEST_F(Accounts, a_death_inside_the_lock_is_repaired) {
  const int status = in_child([&] {
    const int slot = claim();
    if (!take_bytes(slot, 30 * kMiB)) return 1;
    new Lock(*ledger_);                      // never unlocked
    ledger_->use[0].used_bytes += 7 * kMiB;  // half of an update
    return raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  const Lock lock(*ledger_);
  EXPECT_EQ(used(), 10 * kMiB);
  EXPECT_EQ(free_bytes(lock, *ledger_, 0), 90 * kMiB);
}

TEST_F(Accounts, what_the_dead_held_does_not_add_to_a_later_peak) {
  for (int i = 0; i < 3; ++i) {
    const int status = in_child([&] {
      const bool taken = take_bytes(claim(), 20 * kMiB);
      _exit(taken ? 0 : 1);  // as children of multiprocessing do: no destructor runs
      return 1;
    });
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_EQ(ledger_->use[0].peak_used_bytes, 30 * kMiB);
}

TEST_F(Accounts, a_program_that_takes_the_place_of_another_starts_with_nothing) {
  const int before = claim();
  ASSERT_TRUE(take_bytes(before, 60 * kMiB));
  const int after = claim();  // what the same process claims after exec
  EXPECT_EQ(used(), 10 * kMiB);
  EXPECT_TRUE(take_bytes(after, 80 * kMiB));
}

TEST_F(Accounts, slots_of_the_dead_are_used_again_when_none_is_left) {
  for (vf_process& process : ledger_->processes) {
    process.pid = 1;
    process.started = 1;  // not what process 1 says: a recycled pid
    process.used_bytes[0] = 1024;
  }
  EXPECT_NE(claim(), kNoSlot);
  EXPECT_EQ(used(), 10 * kMiB - (VF_MAX_PROCESSES * 1024));  // the made-up bytes were never charged
}

TEST_F(Accounts, what_a_dead_process_left_is_not_told_to_readers) {
  const int slot = claim();
  {
    const Lock lock(*ledger_);
    ASSERT_TRUE(take(lock, *ledger_, slot, 0, 20 * kMiB));
  }
  EXPECT_EQ(living_bytes(*ledger_, 0), 30 * kMiB);
  ledger_->processes[slot].pid = 1 << 30;  // nobody's
  EXPECT_TRUE(has_ended(ledger_->processes[slot]));
  EXPECT_EQ(living_bytes(*ledger_, 0), 10 * kMiB);
  EXPECT_EQ(used(), 30 * kMiB) << "a reader changes nothing";
}

TEST_F(Accounts, a_zombie_counts_as_dead) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(start_time_of(child), 0u);
  waitpid(child, nullptr, 0);
}

// A loader of many workers may use up a process' descriptors: it lives all the same.
TEST_F(Accounts, who_can_not_be_asked_about_keeps_its_memory) {
  const int slot = claim();
  const Lock lock(*ledger_);
  ASSERT_TRUE(take(lock, *ledger_, slot, 0, 20 * kMiB));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const uint32_t unknown = start_time_of(getpid());
  const int ended = reclaim_dead(lock, *ledger_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(unknown, kUnknownStart);
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(used(), 30 * kMiB);
}

TEST_F(Accounts, managed_memory_may_exceed_the_card) {
  const int slot = claim();
  const Lock lock(*ledger_);
  take_oversubscribed(lock, *ledger_, slot, 0, 200 * kMiB);
  EXPECT_EQ(used(), 210 * kMiB);
  EXPECT_EQ(free_bytes(lock, *ledger_, 0), 0);
}

TEST(StartTime, of_this_process_is_stable_and_of_none_is_zero) {
  EXPECT_NE(start_time_of(getpid()), 0u);
  EXPECT_EQ(start_time_of(getpid()), start_time_of(getpid()));
  EXPECT_EQ(start_time_of(1 << 30), 0u);
}

class Visible : public ::testing::Test {
 protected:
  static const vf_ledger& ledger() {
    static vf_ledger four = [] {
      vf_ledger made = {};
      made.card_count = 4;
      for (uint8_t i = 0; i < 4; ++i) made.cards[i].uuid[0] = i + 1;
      return made;
    }();
    return four;
  }
};

TEST_F(Visible, all_cards_without_the_variable) {
  EXPECT_EQ(visible_cards(ledger(), nullptr), (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(Visible, in_the_order_given_and_up_to_the_first_mistake) {
  EXPECT_EQ(visible_cards(ledger(), "2, 0,9,1"), (std::vector<int>{2, 0}));
  EXPECT_EQ(visible_cards(ledger(), "-1"), std::vector<int>{});
  EXPECT_EQ(visible_cards(ledger(), ""), std::vector<int>{});
  EXPECT_EQ(visible_cards(ledger(), "1x"), std::vector<int>{});
}

TEST_F(Visible, by_uuid_or_an_unambiguous_beginning) {
  EXPECT_EQ(visible_cards(ledger(), "GPU-03"), std::vector<int>{2});
  EXPECT_EQ(visible_cards(ledger(), uuid_text(ledger().cards[1]).c_str()), std::vector<int>{1});
  EXPECT_EQ(visible_cards(ledger(), "GPU-0"), std::vector<int>{});
}

TEST_F(Visible, a_card_named_twice_hides_all) { EXPECT_EQ(visible_cards(ledger(), "1,1"), std::vector<int>{}); }

}  // namespace
}  // namespace vramfit::ledger
