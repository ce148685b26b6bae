// How processes end that have used the virtual card, and forks beside a first call. The test's own process never uses
// it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "virtual_gpu/ledger/accounts.h"
#include "virtual_gpu/ledger/ledger.h"
#include "virtual_gpu/testing/card_fixture.h"
#include "virtual_gpu/testing/last_library.h"

namespace {

using vramfit::ledger::Lock;
using vramfit::ledger::State;
using vramfit::testing::CardEnvironment;
using vramfit::testing::in_child;

const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new CardEnvironment);

std::atomic<bool> is_held_up{false}, has_come{false};

}  // namespace

// The core's own opening of the ledger comes here too: the executable stands before libc.
extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  if (is_held_up && std::strstr(path, "vramfit-test-") != nullptr) {
    has_come = true;
    while (is_held_up) usleep(1000);
  }
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, 0600));
}

namespace {

int processes_on_the_card() {
  const Lock lock(CardEnvironment::ledger());
  reclaim_dead(lock, CardEnvironment::ledger());
  int found = 0;
  for (const vf_process& process : CardEnvironment::ledger().processes) found += process.pid != 0 ? 1 : 0;
  return found;
}

TEST(End, gives_back_what_the_process_had) {
  const int status = in_child([]() -> int {
    if (vramfit::ledger::state() != State::kReady) return 1;
    std::exit(0);
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(processes_on_the_card(), 0);
}

// A signal handler may call exit() in the middle of a call; a process that was stopped with the lock is no different.
TEST(End, comes_although_the_lock_is_never_let_go_of) {
  const int status = in_child([]() -> int {
    if (vramfit::ledger::state() != State::kReady) return 1;
    const Lock lock(CardEnvironment::ledger());
    std::exit(0);
  });
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(processes_on_the_card(), 0);
}

std::thread* worker = nullptr;  // the executable's own destructors run before those of libraries
std::atomic<State> worker_saw{State::kReady};

void join_the_worker() {
  if (vramfit::ledger::state() != State::kEnded) _exit(2);  // unloaded too early: nothing is tested
  worker->join();
  _exit(worker_saw == State::kEnded ? 0 : 3);
}

TEST(End, comes_although_a_library_that_is_unloaded_last_joins_a_thread) {
  const int status = in_child([]() -> int {
    if (vramfit::ledger::state() != State::kReady) return 1;
    worker = new std::thread([] {
      State seen = State::kReady;
      while (seen == State::kReady) seen = vramfit::ledger::state();
      worker_saw = seen;
    });
    vramfit_test_at_unloading(join_the_worker);
    std::exit(4);
  });
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Fork, beside_a_thread_that_looks_for_the_ledger_leaves_a_child_that_can_use_the_card) {
  is_held_up = true;
  std::thread looking([] { vramfit::ledger::observe(); });
  while (!has_come) usleep(1000);
  const int status = in_child([] {
    is_held_up = false;
    return vramfit::ledger::state() == State::kReady ? 0 : 1;
  });
  is_held_up = false;
  looking.join();
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
