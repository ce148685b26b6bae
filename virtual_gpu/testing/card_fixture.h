// One process on a fresh virtual card per test executable. The ledger is attached once per process, so all tests of an
// executable share it and clean up after themselves; several processes are made by `in_child`.
#ifndef VRAMFIT_VIRTUAL_GPU_TESTING_CARD_FIXTURE_H
#define VRAMFIT_VIRTUAL_GPU_TESTING_CARD_FIXTURE_H

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "virtual_gpu/testing/session.h"

namespace vramfit::testing {

inline constexpr long long kMiB = 1 << 20;

class CardEnvironment : public ::testing::Environment {
 public:
  explicit CardEnvironment(SessionOptions options = {}) : options_(std::move(options)) {}

  void SetUp() override {
    path_ = "/dev/shm/vramfit.test." + std::to_string(getpid());
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
  if (pid == 0) _exit(body());
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

}  // namespace vramfit::testing

#endif
