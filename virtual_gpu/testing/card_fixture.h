// One process on a fresh virtual card per test executable. The ledger is attached once per process, so all tests of an
// executable share it and clean up after themselves; several processes are made by `in_child`.
#ifndef VRAMFIT_VIRTUAL_GPU_TESTING_CARD_FIXTURE_H
#define VRAMFIT_VIRTUAL_GPU_TESTING_CARD_FIXTURE_H

#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "virtual_gpu/testing/session.h"

namespace vramfit::testing {

inline constexpr long long kMiB = 1 << 20;

inline constexpr unsigned kHungSeconds = 50;  // below the time limit of a test (virtual_gpu/tests.cmake)

// What a process that should have ended long ago is doing: its stack, and where the kernel holds it. Async-signal-safe
// but for the first call of backtrace, which `watch_for_a_hang` makes.
inline void tell_where_it_hangs(int) {
  static constexpr char kText[] = "\nhung; where:\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  char held[256];
  for (const char* path : {"/proc/self/wchan", "/proc/self/syscall"}) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? 0 : read(file, held, sizeof held);
    if (got > 0) written = write(STDERR_FILENO, held, static_cast<size_t>(got));
    if (file >= 0) close(file);
  }
  signal(SIGALRM, SIG_DFL);
  abort();
}

// Watches from here to the very end of the process, destructors included: a hang becomes a failure that says where.
inline void watch_for_a_hang(unsigned seconds = kHungSeconds) {
  void* frame = nullptr;
  backtrace(&frame, 1);
  signal(SIGALRM, tell_where_it_hangs);
  alarm(seconds);
}

class CardEnvironment : public ::testing::Environment {
 public:
  explicit CardEnvironment(SessionOptions options = {}) : options_(std::move(options)) {}

  void SetUp() override {
    watch_for_a_hang();
    // Not "vramfit.": a session without its lock is removed by any vramfit that starts meanwhile.
    path_ = "/dev/shm/vramfit-test-" + std::to_string(getpid());
    ASSERT_EQ(create_session(path_, options_), "");
    setenv(VF_ENV_LEDGER, path_.c_str(), 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    ledger_ = open_session(path_);
    ASSERT_NE(ledger_, nullptr);
  }
  void TearDown() override { unlink(path_.c_str()); }

  static vf_ledger& ledger() { return *ledger_; }

 private:
  SessionOptions options_;
  std::string path_;
  static inline vf_ledger* ledger_ = nullptr;
};

// Runs `body` in a forked child that leaves without destructors; returns its wait status.
inline int in_child(const std::function<int()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    watch_for_a_hang(kHungSeconds / 2);  // an alarm is not inherited; before the parent's, which knows of a wait only
    _exit(body());
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace vramfit::testing

#endif
