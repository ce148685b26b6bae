#include "job/session.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace vramfit::job {
namespace {

namespace fs = std::filesystem;
using base::Bytes;

model::EmulatedCard toy_card() {
  model::EmulatedCard card;
  card.card.name = "NVIDIA Toy";
  card.card.capability = {8, 6};
  card.card.sm_count = 4;
  card.total = Bytes::gib(2);
  card.occupied = Bytes::mib(100);
  card.context = Bytes::mib(50);
  return card;
}

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("session-test." + std::to_string(::getpid()));
    fs::create_directories(folder_);
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TMPDIR");
    fs::remove_all(folder_);
  }
  fs::path folder_;
};

TEST_F(SessionTest, the_ledger_describes_the_cards_and_counts_what_others_hold) {
  const auto session = Session::create({{toy_card(), toy_card()}, 12040, true});
  ASSERT_TRUE(session) << to_string(session.error());
  const vf_ledger& ledger = *session->ledger();
  EXPECT_EQ(ledger.magic, VF_LEDGER_MAGIC);
  EXPECT_EQ(ledger.card_count, 2u);
  EXPECT_EQ(ledger.driver_version, 12040u);
  EXPECT_STREQ(ledger.driver_name, "550.54.15");
  EXPECT_EQ(ledger.values, 1u);
  EXPECT_STREQ(ledger.cards[0].name, "NVIDIA Toy");
  EXPECT_EQ(ledger.use[1].used_bytes, Bytes::mib(100).count());
  EXPECT_NE(std::string(ledger.cards[0].uuid, ledger.cards[0].uuid + 16),
            std::string(ledger.cards[1].uuid, ledger.cards[1].uuid + 16));
  EXPECT_EQ(ledger.cards[0].l2_bytes, -1) << "unknown is never 0";
}

TEST_F(SessionTest, nothing_is_left_when_it_ends) {
  fs::path ledger, run_folder;
  {
    const auto session = Session::create({{toy_card()}, 13000, false});
    ASSERT_TRUE(session);
    ledger = session->ledger_path();
    run_folder = session->run_folder();
    EXPECT_TRUE(fs::exists(ledger));
    std::ofstream(run_folder / "notes.1.jsonl") << "{}";
  }
  EXPECT_FALSE(fs::exists(ledger));
  EXPECT_FALSE(fs::exists(run_folder));
}

TEST_F(SessionTest, two_sessions_share_nothing) {
  const auto one = Session::create({{toy_card()}, 13000, false});
  const auto two = Session::create({{toy_card()}, 13000, false});
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->ledger_path(), two->ledger_path());
  EXPECT_NE(one->run_folder(), two->run_folder());
}

TEST_F(SessionTest, a_real_card_needs_no_ledger) {
  const auto session = Session::create({{}, 13000, false});
  ASSERT_TRUE(session);
  EXPECT_EQ(session->ledger(), nullptr);
  EXPECT_TRUE(session->ledger_path().empty());
  EXPECT_TRUE(fs::exists(session->run_folder()));
}

TEST_F(SessionTest, what_a_dead_session_left_is_removed) {
  fs::create_directories(folder_ / "vramfit.dead");
  std::ofstream(folder_ / "vramfit.dead" / "lock") << "";
  fs::create_directories(folder_ / "vramfit-of-somebody-else");
  EXPECT_GE(remove_stale_sessions(), 1);
  EXPECT_FALSE(fs::exists(folder_ / "vramfit.dead"));
  EXPECT_TRUE(fs::exists(folder_ / "vramfit-of-somebody-else"));
}

TEST_F(SessionTest, living_sessions_are_not_taken_for_stale_ones) {
  const auto session = Session::create({{toy_card()}, 13000, false});
  ASSERT_TRUE(session);
  remove_stale_sessions();
  EXPECT_TRUE(fs::exists(session->ledger_path()));
  EXPECT_TRUE(fs::exists(session->run_folder()));
}

TEST_F(SessionTest, the_ledger_names_the_driver_that_the_cuda_came_with) {
  const auto session = Session::create({{toy_card()}, 12080, false});
  ASSERT_TRUE(session);
  EXPECT_EQ(session->ledger()->driver_version, 12080u);
  EXPECT_STREQ(session->ledger()->driver_name, "570.124.06");
}

TEST_F(SessionTest, the_lock_is_robust_and_shared_between_processes) {
  const auto session = Session::create({{toy_card()}, 13000, false});
  ASSERT_TRUE(session);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(session->ledger_path().c_str(), O_RDWR);
    auto* ledger =
        static_cast<vf_ledger*>(mmap(nullptr, sizeof(vf_ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    pthread_mutex_lock(&ledger->lock);
    _exit(0);  // dies holding it
  }
  waitpid(child, nullptr, 0);
  auto* lock = const_cast<pthread_mutex_t*>(&session->ledger()->lock);
  EXPECT_EQ(pthread_mutex_lock(lock), EOWNERDEAD);
  EXPECT_EQ(pthread_mutex_consistent(lock), 0);
  EXPECT_EQ(pthread_mutex_unlock(lock), 0);
}

}  // namespace
}  // namespace vramfit::job
